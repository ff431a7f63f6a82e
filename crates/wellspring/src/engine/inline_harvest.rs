//! Harvests on readers' calls, where no harvester makes them.
//!
//! A round of such harvests takes 100 ms and is cut into slices of about a microsecond. A read makes one of them:
//!
//! ```text
//! look     for signs of a copy of the machine
//! sample   take a sample for an event from a fast source
//! admit    test it, and move it to a queue
//! sample   the same with the next fast source
//! admit
//! deliver  events from the queues to the pools, at most 8; when the queues are empty, a seed if one is due
//! ```
//!
//! The reader that sets the time of the next slice makes this one. The others go on. If no reseed happened for a minute,
//! or the clock went back, one reader makes a whole harvest: it draws 8 times on all fast sources, and reseeds.
//!
//! A read that fetches a key or fills a buffer leaves the slice to the next read of its thread, which has ready bytes: so
//! no read makes both. It does so for 4 ms. After that, any read off the hot path makes the slice.

use super::collector::{Collector, SeedTarget};
use super::collector_memory::{CollectorState, Due, QUEUE_EVENTS, ROUND_DRAWS};
use super::parts::Parts;
use super::taps::Work;
use core::hint::black_box;
use core::sync::atomic::Ordering;
use wellspring_core::pool::{Pace, RESEED_INTERVAL_MS};
use wellspring_core::tap::Refill;
use wellspring_sys::signals::Blocked;
use wellspring_sys::{os, stack};
use zeroize::Zeroize;

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

/// The most events that a slice moves to the pools: SHA-256 takes about 100 ns for each.
const SLICE_EVENTS: usize = 8;

/// The most queues that a slice looks at: an empty one may cost a miss of the caches.
const SLICE_QUEUES: usize = 8;

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
        match slice {
            Slice::Look => {}
            Slice::Sample => {
                // One that still waits, because the lock was busy when it was to be admitted, comes first.
                if !self.admit_waiting(&mut state) {
                    self.sample_next_source(&mut state);
                }
            }
            Slice::Admit => {
                self.admit_waiting(&mut state);
            }
            Slice::Deliver => {
                if self.drain_some(&mut state) {
                    self.deliver(&mut state, now_ms, Pace::Fortuna, target, signals);
                } else {
                    // The next read goes on with it.
                    self.memory.inline_slices.fetch_sub(1, Ordering::Relaxed);
                    self.schedule_inline_harvest(now_ms, now_ms);
                }
            }
            Slice::Whole => {
                self.note_reseed(now_ms);
                self.lock_pages_in_child(target.nodes);
                target.nodes.receive_root(signals);
                for _ in 0..black_box(ROUND_DRAWS) {
                    self.draw_on_fast_sources(&mut state);
                }
                self.deliver(&mut state, now_ms, Pace::Fortuna, target, signals);
            }
        }
    }

    /// Takes a sample from the fast source whose turn it is.
    fn sample_next_source(&self, state: &mut CollectorState) {
        let sources = self.sources();
        let count = sources.len();
        let mut in_turn = (0..count).map(|step| (state.next_source as usize + step) % count);
        if let Some(source) = in_turn.find(|&source| sources[source].is_fast()) {
            state.next_source = source as u64 + 1;
            self.sample_and_wait(state, source);
        }
    }

    /// Goes on with moving events from the queues to the pools. Returns whether it has come to the end of all queues.
    ///
    /// It takes at most 64 events, a full queue, from one queue: a thread that fills its queue as fast as this empties
    /// it must not keep the others waiting.
    fn drain_some(&self, state: &mut CollectorState) -> bool {
        let mut events = 0;
        // The compiler must not write the loops out: 8 times each, and once more for every number of events.
        for _ in 0..black_box(SLICE_QUEUES) {
            let Some(queue) = self.queues().get(state.next_queue as usize) else {
                break;
            };
            while state.queue_events < QUEUE_EVENTS as u64 && queue.0.pop_into(&mut state.event) {
                self.absorb(state);
                state.queue_events += 1;
                events += 1;
                if events == black_box(SLICE_EVENTS) {
                    state.event.zeroize();
                    return false;
                }
            }
            state.next_queue += 1;
            state.queue_events = 0;
        }
        state.event.zeroize();
        let is_end = state.next_queue as usize >= self.queues().len();
        if is_end {
            state.next_queue = 0;
        }
        is_end
    }
}
