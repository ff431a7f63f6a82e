//! Harvests on readers' calls, where no harvester makes them.
//!
//! A round of such harvests takes 100 ms and is cut into slices of about a microsecond. A read makes one of them:
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
//! The reader that sets the time of the next slice makes this one. The others go on. If no reseed happened for a minute,
//! or the clock went back, one reader makes a whole harvest: it draws 8 times on all fast sources, and reseeds.
//!
//! A read that fetches a key or fills a buffer leaves the slice to the next read of its thread, which has ready bytes: so
//! no read makes both. It does so for 4 ms. After that, any read off the hot path makes the slice.

use super::collector::{Collector, SeedTarget};
use super::collector_memory::{Due, ROUND_DRAWS, SEEDING_SAMPLE_BYTES};
use super::parts::Parts;
use super::taps::Work;
use core::hint::black_box;
use core::sync::atomic::Ordering;
use wellspring_core::pool::RESEED_INTERVAL_MS;
use wellspring_core::tap::Refill;
use wellspring_os::signals::Blocked;
use wellspring_os::{os, stack};

/// A part of a harvest, for one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slice {
    Look,
    Sample,
    Admit,
    Deliver,
    Whole,
}

/// The slices of a round, in their order.
const ROUND: [Slice; 6] = [
    Slice::Look,
    Slice::Sample,
    Slice::Admit,
    Slice::Sample,
    Slice::Admit,
    Slice::Deliver,
];

/// The time from one slice to the next.
const SLICE_INTERVAL_MS: u64 = RESEED_INTERVAL_MS / ROUND.len() as u64;

/// How long a slice that is due is left to a read with ready bytes. The clock shows steps of this length.
const LEAVE_MS: u64 = 4;

/// The most events of mixed data that a slice moves to the pools: SHA-256 takes about 200 ns for each, which goes to its
/// pool and to what the next order takes in.
const SLICE_EVENTS: usize = 4;

impl Parts {
    /// Makes the slice of a harvest that is due, or leaves it to the next read. `is_marked`: the last read marked its tap
    /// as current. That this read is off the hot path then means that it fetches a key or fills a buffer.
    #[inline]
    pub(super) fn harvest_if_due(&self, is_marked: bool) -> Work {
        let due = self.collector.inline_harvest_due();
        due.map_or(Work::ALL, |due| self.harvest_or_leave(due, is_marked))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn harvest_or_leave(&self, due: Due, is_marked: bool) -> Work {
        let leaves_slice = is_marked && self.collector.may_leave_slice(due);
        let refill = if leaves_slice {
            Refill::Whole
        } else {
            self.harvest_inline(due)
        };
        Work {
            refill,
            leaves_slice,
        }
    }

    /// Makes a slice of a harvest on a reader's call, unless another thread has taken it. Returns how much the read makes
    /// for later reads: a read that harvested makes little.
    pub(super) fn harvest_inline(&self, due: Due) -> Refill {
        let Some(slice) = self.collector.take_slice(due) else {
            return Refill::Whole;
        };
        if matches!(slice, Slice::Look | Slice::Whole) {
            self.look_for_clones(due.now_ms, due.clock_went_back);
        }
        // A look needs no lock, so signals need not be blocked for it, which takes two system calls.
        if slice != Slice::Look
            && let Some(signals) = Blocked::try_first()
        {
            let target = self.seed_target();
            self.collector
                .harvest_slice(slice, due.now_ms, target, &signals);
            stack::erase_below();
        }
        Refill::Short
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

    /// Whether a read that has other work may leave the slice that is due to the next one.
    pub(super) fn may_leave_slice(&self, due: Due) -> bool {
        let from_ms = self.memory.inline_from_ms.load(Ordering::Relaxed);
        !due.clock_went_back && due.now_ms < from_ms.saturating_add(LEAVE_MS)
    }

    /// Takes the slice that is due, and schedules the next. Returns `None` if another thread has taken it.
    pub(super) fn take_slice(&self, due: Due) -> Option<Slice> {
        let (memory, relaxed) = (&self.memory, Ordering::Relaxed);
        let from_ms = memory.inline_from_ms.load(relaxed);
        if due.now_ms < from_ms && !due.clock_went_back {
            return None;
        }
        let next_ms = due.now_ms + SLICE_INTERVAL_MS;
        let exchanged = memory
            .inline_from_ms
            .compare_exchange(from_ms, next_ms, relaxed, relaxed);
        exchanged.ok()?;
        memory.scheduled_ms.store(due.now_ms, relaxed);
        if due.clock_went_back || self.is_stale(due.now_ms) {
            return Some(Slice::Whole);
        }
        let number = memory.inline_slices.fetch_add(1, relaxed);
        Some(ROUND[number as usize % ROUND.len()])
    }

    /// Makes a slice, unless another thread has the lock of the pools. The caller looks for clones.
    pub(super) fn harvest_slice(
        &self,
        slice: Slice,
        now_ms: u64,
        target: SeedTarget<'_>,
        signals: &Blocked,
    ) {
        let Some(mut state) = self.try_lock(signals) else {
            return;
        };
        let samples = self.samples();
        match slice {
            Slice::Look => {}
            Slice::Sample => {
                // One that still waits, because the lock was busy when it was to be admitted, comes first.
                if !samples.admit_waiting(&mut state) {
                    samples.sample_next_source(&mut state);
                }
            }
            Slice::Admit => {
                samples.admit_waiting(&mut state);
            }
            Slice::Deliver => {
                self.take_mixed(&mut state, SLICE_EVENTS);
                self.deliver(&mut state, now_ms, target, signals);
            }
            Slice::Whole => {
                self.note_reseed(now_ms);
                self.lock_pages_in_child(target.nodes);
                for _ in 0..black_box(ROUND_DRAWS) {
                    samples.draw_on_fast_sources(&mut state, SEEDING_SAMPLE_BYTES);
                }
                self.take_mixed(&mut state, SLICE_EVENTS);
                self.deliver(&mut state, now_ms, target, signals);
            }
        }
    }
}
