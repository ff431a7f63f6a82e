//! Samples of the sources: taken, tested, and hashed into the pools.
//!
//! A read that harvests inline does only the first part of that, and a later read the rest. Meanwhile the sample waits
//! behind the lock of the pools.

use super::collector_memory::{CollectorState, SEEDING_SAMPLE_BYTES, this_thread};
use super::pool_meters::PoolMeters;
use super::source_entry::SourceEntry;
use core::sync::atomic::{AtomicU64, Ordering};
use wellspring_core::distribution::Distribution;
use wellspring_core::event::Event;
use wellspring_core::health::START_UP_SYMBOLS;

/// The draws in a row on a source during its start-up: enough for one that yields 32 bytes at a time, and one more.
const START_UP_DRAWS: u32 = START_UP_SYMBOLS / Event::MAX_BYTES as u32 + 1;

/// The sources of an engine, and what else a sample meets on its way to the pools.
///
/// No queue is on that way, so nothing that comes from elsewhere can take the sample's place.
pub(super) struct Samples<'a> {
    pub(super) sources: &'a [SourceEntry],
    pub(super) drawing_thread: &'a AtomicU64,
    pub(super) meters: &'a PoolMeters,
}

impl Samples<'_> {
    /// Draws on all fast sources.
    #[inline(never)]
    pub(super) fn draw_on_fast_sources(&self, state: &mut CollectorState, bytes: usize) {
        for source in 0..self.sources.len() {
            if self.sources[source].slow_interval_ms.is_none() {
                self.draw(state, source, bytes);
            }
        }
    }

    /// Draws on a source: its sample goes through the health tests, in events, to the pools.
    ///
    /// One draw of `bytes` bytes. If `bytes` is [`SEEDING_SAMPLE_BYTES`], up to 33 draws: until the start-up of the
    /// source is over and a sample was used.
    fn draw(&self, state: &mut CollectorState, source: usize, bytes: usize) {
        let draws = if bytes < SEEDING_SAMPLE_BYTES {
            1
        } else {
            START_UP_DRAWS
        };
        // The new sample takes its place.
        self.admit_waiting(state);
        for _ in 0..draws {
            let Some(length) = self.sample(state, source, bytes) else {
                return;
            };
            if self.admit(state, source, length) || length == 0 {
                return;
            }
        }
    }

    /// Takes an event's sample from the fast source whose turn it is. It waits for
    /// [`admit_waiting`](Self::admit_waiting).
    pub(super) fn sample_next_source(&self, state: &mut CollectorState) {
        let count = self.sources.len();
        let mut in_turn = (0..count).map(|step| (state.next_source as usize + step) % count);
        if let Some(source) =
            in_turn.find(|&source| self.sources[source].slow_interval_ms.is_none())
        {
            state.next_source = source as u64 + 1;
            let length = self.sample(state, source, Event::MAX_BYTES);
            state.waiting_source = source as u64;
            state.waiting_bytes = length.unwrap_or(0) as u64;
        }
    }

    /// Admits the sample that waits, if one does. Returns whether one did.
    #[inline(never)]
    pub(super) fn admit_waiting(&self, state: &mut CollectorState) -> bool {
        let length = core::mem::take(&mut state.waiting_bytes) as usize;
        if length != 0 {
            self.admit(state, state.waiting_source as usize, length);
        }
        length != 0
    }

    /// Takes a sample of up to `bytes` bytes from a source. Returns its length, or `None` if the source failed.
    fn sample(&self, state: &mut CollectorState, source: usize, bytes: usize) -> Option<usize> {
        self.drawing_thread.store(this_thread(), Ordering::Relaxed);
        let length = self.sources[source].sample(&mut state.sample[..bytes]);
        self.drawing_thread.store(0, Ordering::Relaxed);
        length
    }

    /// Tests the first `length` bytes of the sample, hashes them into the pools, and wipes them. Returns whether they
    /// were used.
    #[inline(never)]
    fn admit(&self, state: &mut CollectorState, source: usize, length: usize) -> bool {
        let CollectorState {
            distribution,
            sources,
            sample,
            event,
            events,
            ..
        } = state;
        let absorb = &mut |event: &Event| self.absorb(distribution, events, event);
        self.sources[source].admit(&mut sources[source], &mut sample[..length], event, absorb)
    }

    /// The same with a sample that was taken without the lock of the pools, and is copied.
    pub(super) fn admit_slow(&self, state: &mut CollectorState, source: usize, sample: &[u8]) {
        self.admit_waiting(state);
        state.sample[..sample.len()].copy_from_slice(sample);
        self.admit(state, source, sample.len());
    }

    /// Adds an event to its pool.
    #[inline(never)]
    fn absorb(&self, distribution: &mut Distribution, events: &mut u64, event: &Event) {
        distribution.absorb(event);
        *events = events.wrapping_add(1);
        self.meters
            .copy_one(distribution.accumulator(), event.pool());
    }
}
