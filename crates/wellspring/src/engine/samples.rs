//! Samples of the fast sources: taken, tested, and moved to a queue.
//!
//! A read that harvests inline does only the first half of that, and a later read the second. Meanwhile the sample waits
//! behind the lock of the pools.

use super::collector::Collector;
use super::collector_memory::{CollectorState, SEEDING_SAMPLE_BYTES, this_thread};
use core::sync::atomic::Ordering;
use wellspring_core::event::Event;
use wellspring_core::health::START_UP_SYMBOLS;

/// The draws in a row on a source during its start-up: enough for one that yields 32 bytes at a time, and one more.
const START_UP_DRAWS: u32 = START_UP_SYMBOLS / Event::MAX_BYTES as u32 + 1;

impl Collector {
    /// Draws on a source: its sample goes through the health tests, in events, to the queue of this CPU.
    ///
    /// One draw of `bytes` bytes. If `bytes` is [`SEEDING_SAMPLE_BYTES`], up to 33 draws: until the start-up of the
    /// source is over and a sample was used.
    pub(super) fn draw(&self, state: &mut CollectorState, source: usize, bytes: usize) {
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

    /// Takes an event's sample from a source. It waits for [`admit_waiting`](Self::admit_waiting).
    pub(super) fn sample_and_wait(&self, state: &mut CollectorState, source: usize) {
        let length = self.sample(state, source, Event::MAX_BYTES);
        state.waiting_source = source as u64;
        state.waiting_bytes = length.unwrap_or(0) as u64;
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
        let drawing_thread = &self.memory.drawing_thread;
        drawing_thread.store(this_thread(), Ordering::Relaxed);
        let length = self.sources()[source].sample(&mut state.sample[..bytes]);
        drawing_thread.store(0, Ordering::Relaxed);
        length
    }

    /// Tests the first `length` bytes of the sample, moves them in events to the queue of this CPU, and wipes them.
    /// Returns whether they were used.
    #[inline(never)]
    fn admit(&self, state: &mut CollectorState, source: usize, length: usize) -> bool {
        let CollectorState {
            sources,
            sample,
            event,
            ..
        } = state;
        let push = &mut |event: &Event| self.push(event);
        self.sources()[source].admit(&mut sources[source], &mut sample[..length], event, push)
    }
}
