//! One harvest on a reader's call, if no harvester does it.

use super::collector::{Collector, SeedTarget};
use super::collector_memory::{CollectorState, Due, ROUND_DRAWS, SAMPLE_BYTES};
use wellspring_core::pool::{Pace, RESEED_INTERVAL_MS};
use wellspring_sys::lock::Guard;
use wellspring_sys::signals::Blocked;

/// The right to one inline harvest: the lock of the pools.
pub(super) struct Turn<'a> {
    collector: &'a Collector,
    state: Guard<'a, CollectorState>,
    signals: &'a Blocked,
    due: Due,
}

impl<'a> Turn<'a> {
    /// Takes the lock, unless another thread has it, and schedules the next inline harvest.
    pub(super) fn try_begin(
        collector: &'a Collector,
        due: Due,
        signals: &'a Blocked,
    ) -> Option<Self> {
        let state = collector.try_lock(signals)?;
        collector.schedule_inline_harvest(due.now_ms, due.now_ms + RESEED_INTERVAL_MS);
        Some(Self {
            collector,
            state,
            signals,
            due,
        })
    }

    /// Reseeds if that is due, else draws on the next fast source.
    pub(super) fn harvest(mut self, target: SeedTarget<'_>) {
        let Due {
            now_ms,
            clock_went_back,
        } = self.due;
        let (collector, state) = (self.collector, &mut *self.state);
        if clock_went_back || state.is_stale(now_ms) {
            state.reseeded_ms = now_ms;
            collector.lock_pages_in_child(target.nodes);
            target.nodes.receive_root(self.signals);
            (0..ROUND_DRAWS).for_each(|_| collector.draw_on_fast_sources(state));
        }
        if !collector.deliver(state, now_ms, Pace::Fortuna, target, self.signals) {
            let sources = collector.sources();
            let count = sources.len();
            let mut in_turn = (0..count).map(|step| (state.next_source as usize + step) % count);
            if let Some(source) = in_turn.find(|&source| sources[source].is_fast()) {
                state.next_source = source as u64 + 1;
                collector.draw(state, source, SAMPLE_BYTES);
                collector.drain(state);
            }
        }
    }
}
