//! Harvests on readers' calls, where no harvester makes them.
//!
//! A round of such harvests takes 100 ms and is cut into steps of about a microsecond. A read makes one of them:
//!
//! ```text
//! look     for signs of a copy of the machine
//! sample   take a sample for an event from a fast source
//! admit    test it, and hash it into a pool
//! sample   the same with the next fast source
//! admit
//! deliver  at most 4 events of what was mixed in to the pools; and a seed if one is due
//! ```
//!
//! The reader that sets the time of the next step makes this one. The others go on. If no reseed happened for a minute,
//! or the clock went back, one reader makes a whole harvest: it draws 8 times on all fast sources, and reseeds.
//!
//! A read that fetches a key or fills a buffer leaves the step to the next read of its thread, which has ready bytes: so
//! no read makes both. It does so for 4 ms. After that, any read off the hot path makes the step.

use super::collector::{Collector, SeedTarget};
use super::collector_memory::{Due, ROUND_DRAWS, SEEDING_SAMPLE_BYTES};
use super::inner::EngineInner;
use core::sync::atomic::Ordering;
use wellspring_core::pool::RESEED_INTERVAL_MS;
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::{os, stack};

/// A part of a harvest, for one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HarvestStep {
    Look,
    Sample,
    Admit,
    Deliver,
    Whole,
}

/// The fate of the step that was due when a read began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HarvestedStep {
    /// None was due, or another thread has made it.
    None,
    /// The read made it, and is late.
    Made,
    /// The next read of this thread has to make it, and must not take the hot path.
    LeftToNextRead,
}

/// The steps of a round, in their order.
const ROUND: [HarvestStep; 6] = [
    HarvestStep::Look,
    HarvestStep::Sample,
    HarvestStep::Admit,
    HarvestStep::Sample,
    HarvestStep::Admit,
    HarvestStep::Deliver,
];

/// The time from one step to the next.
const STEP_INTERVAL_MS: u64 = RESEED_INTERVAL_MS / ROUND.len() as u64;

/// How long a step that is due is left to a read with ready bytes. The clock shows steps of this length.
const LEAVE_MS: u64 = 4;

/// The most events of mixed data that a step moves to the pools: SHA-256 takes about 200 ns for each, which goes to its
/// pool and to what the next order takes in.
const STEP_EVENTS: usize = 4;

impl EngineInner {
    /// Makes the step of a harvest that is due, or leaves it to the next read. `was_current`: the last read made its tap
    /// current. That this read is off the hot path then means that it fetches a key or fills a buffer.
    #[inline]
    pub(super) fn harvest_if_due(&self, was_current: bool) -> HarvestedStep {
        match self.collector.inline_harvest_due() {
            Some(due) => self.harvest_or_leave(due, was_current),
            None => HarvestedStep::None,
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn harvest_or_leave(&self, due: Due, was_current: bool) -> HarvestedStep {
        if was_current && self.collector.may_leave_step(due) {
            return HarvestedStep::LeftToNextRead;
        }
        let Some(step) = self.collector.take_step(due) else {
            return HarvestedStep::None;
        };
        if matches!(step, HarvestStep::Look | HarvestStep::Whole) {
            self.look_for_clones(due.now_ms, due.clock_went_back);
        }
        // A look needs no lock, so signals need not be blocked for it, which takes two system calls.
        if step != HarvestStep::Look
            && let Some(signals) = SignalsBlocked::try_first()
        {
            let target = self.seed_target();
            self.collector
                .harvest_step(step, due.now_ms, target, &signals);
            stack::erase_below();
        }
        HarvestedStep::Made
    }
}

impl Collector {
    /// Whether a reader has to harvest inline now. Not while a harvester keeps its pace.
    #[inline]
    pub(super) fn inline_harvest_due(&self) -> Option<Due> {
        let now_ms = os::now_ms();
        let clock_went_back = now_ms < self.memory.scheduled_ms.load(Ordering::Relaxed);
        let is_due = now_ms >= self.memory.inline_from_ms.load(Ordering::Relaxed);
        (is_due || clock_went_back).then_some(Due {
            now_ms,
            clock_went_back,
        })
    }

    /// No reader harvests inline before `from_ms`.
    pub(super) fn schedule_inline_harvest(&self, now_ms: u64, from_ms: u64) {
        self.memory.inline_from_ms.store(from_ms, Ordering::Relaxed);
        self.memory.scheduled_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Whether a read that has other work may leave the step that is due to the next one.
    pub(super) fn may_leave_step(&self, due: Due) -> bool {
        let from_ms = self.memory.inline_from_ms.load(Ordering::Relaxed);
        !due.clock_went_back && due.now_ms < from_ms.saturating_add(LEAVE_MS)
    }

    /// Takes the step that is due, and schedules the next. Returns `None` if another thread has taken it.
    pub(super) fn take_step(&self, due: Due) -> Option<HarvestStep> {
        let (memory, relaxed) = (&self.memory, Ordering::Relaxed);
        let from_ms = memory.inline_from_ms.load(relaxed);
        if due.now_ms < from_ms && !due.clock_went_back {
            return None;
        }
        let next_ms = due.now_ms + STEP_INTERVAL_MS;
        let exchanged = memory
            .inline_from_ms
            .compare_exchange(from_ms, next_ms, relaxed, relaxed);
        exchanged.ok()?;
        memory.scheduled_ms.store(due.now_ms, relaxed);
        if due.clock_went_back || self.is_stale(due.now_ms) {
            return Some(HarvestStep::Whole);
        }
        let number = memory.inline_steps.fetch_add(1, relaxed);
        Some(ROUND[number as usize % ROUND.len()])
    }

    /// Makes a step, unless another thread has the lock of the pools. The caller looks for clones.
    pub(super) fn harvest_step(
        &self,
        step: HarvestStep,
        now_ms: u64,
        target: SeedTarget<'_>,
        signals: &SignalsBlocked,
    ) {
        let Some(mut state) = self.memory.state.try_lock(signals) else {
            return;
        };
        let samples = self.samples();
        match step {
            HarvestStep::Look => {}
            HarvestStep::Sample => {
                // One that still waits, because the lock was busy when it was to be admitted, comes first.
                if !samples.admit_waiting(&mut state) {
                    samples.sample_next_source(&mut state);
                }
            }
            HarvestStep::Admit => {
                samples.admit_waiting(&mut state);
            }
            HarvestStep::Deliver => {
                self.take_mixed(&mut state, STEP_EVENTS);
                self.deliver(&mut state, now_ms, target, signals);
            }
            HarvestStep::Whole => {
                self.note_reseed(now_ms);
                self.lock_pages_in_child(target.nodes);
                for _ in 0..ROUND_DRAWS {
                    samples.draw_on_fast_sources(&mut state, SEEDING_SAMPLE_BYTES);
                }
                self.take_mixed(&mut state, STEP_EVENTS);
                self.deliver(&mut state, now_ms, target, signals);
            }
        }
    }
}
