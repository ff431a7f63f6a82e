//! The queue that carries events from those who mix data in to the one who owns the pools.
//!
//! A queue is bounded and lossy: a push tries once, gives up when the queue is full or another thread is pushing, and
//! counts what it dropped. A push never waits, so it may come from anywhere, a signal handler included.

use crate::event::Event;
use crate::sync::{AtomicU32, AtomicUsize, Ordering, WORD_BYTES};
use core::fmt;

/// A queue of events: many threads push, the owner of the pools pops.
///
/// All zeros is an empty queue, so that a queue in memory that was wiped (in a child process) is as new,
/// whatever the parent's threads were doing to it. The protocol is Dmitry Vyukov's bounded queue: a slot's
/// turn shows whether it waits for the push of this round or for the pop; it is stored less the slot's
/// index, which makes the first round's value zero.
#[repr(C)]
pub struct Queue<const CAPACITY: usize = 64> {
    next_push: AtomicU32,
    next_pop: AtomicU32,
    dropped: AtomicUsize,
    slots: [Slot; CAPACITY],
}

#[repr(C)]
struct Slot {
    turn: AtomicU32,
    counter: AtomicU32,
    head: AtomicU32,
    _reserved: AtomicU32,
    data: [AtomicUsize; Event::MAX_BYTES / WORD_BYTES],
}

impl<const CAPACITY: usize> Queue<CAPACITY> {
    /// The value of zeroed memory: an empty queue.
    #[cfg(not(loom))]
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "a value to begin with: each use is a new queue"
    )]
    pub const ZERO: Self = Self {
        next_push: AtomicU32::new(0),
        next_pop: AtomicU32::new(0),
        dropped: AtomicUsize::new(0),
        slots: [const {
            Slot {
                turn: AtomicU32::new(0),
                counter: AtomicU32::new(0),
                head: AtomicU32::new(0),
                _reserved: AtomicU32::new(0),
                data: [const { AtomicUsize::new(0) }; Event::MAX_BYTES / WORD_BYTES],
            }
        }; CAPACITY],
    };

    /// An empty queue: loom's atomics cannot be constants.
    #[cfg(loom)]
    #[must_use]
    pub fn zero() -> Self {
        Self {
            next_push: AtomicU32::new(0),
            next_pop: AtomicU32::new(0),
            dropped: AtomicUsize::new(0),
            slots: core::array::from_fn(|_| Slot {
                turn: AtomicU32::new(0),
                counter: AtomicU32::new(0),
                head: AtomicU32::new(0),
                _reserved: AtomicU32::new(0),
                data: core::array::from_fn(|_| AtomicUsize::new(0)),
            }),
        }
    }

    /// Adds an event, or gives up at once: when the queue is full or another thread is pushing at this very
    /// moment. Returns whether the event was added.
    ///
    /// The noise goes to its slot a word at a time, so that the stack holds one word of it at most.
    pub fn push(&self, event: &Event) -> bool {
        // A power of two, because positions wrap at 2^32; two, because a slot's turn must tell the pop of
        // this round from the push of the next.
        const { assert!(CAPACITY.is_power_of_two() && CAPACITY >= 2) };
        let relaxed = Ordering::Relaxed;
        let position = self.next_push.load(relaxed);
        let (slot, index) = self.slot(position);
        let is_free = slot.turn.load(Ordering::Acquire).wrapping_add(index) == position;
        let next = position.wrapping_add(1);
        let entered = is_free
            && self
                .next_push
                .compare_exchange(position, next, relaxed, relaxed)
                .is_ok();
        if !entered {
            self.dropped.fetch_add(1, relaxed);
            return false;
        }
        slot.counter.store(event.counter(), relaxed);
        slot.head.store(event.head(), relaxed);
        let (words, _) = event.padded_data().as_chunks::<WORD_BYTES>();
        for (place, word) in slot.data.iter().zip(words) {
            place.store(usize::from_ne_bytes(*word), relaxed);
        }
        slot.turn.store(next.wrapping_sub(index), Ordering::Release);
        true
    }

    /// Moves the oldest event to `event`, if its push is complete. Returns whether there was one; if not, `event` is
    /// unchanged. One caller at a time: the owner of the pools.
    ///
    /// The slot is erased before it is given back.
    #[inline(never)]
    pub fn pop_into(&self, event: &mut Event) -> bool {
        let relaxed = Ordering::Relaxed;
        let position = self.next_pop.load(relaxed);
        let (slot, index) = self.slot(position);
        let filled = position.wrapping_add(1);
        if slot.turn.load(Ordering::Acquire).wrapping_add(index) != filled {
            return false;
        }
        let data = event.set_head(slot.counter.load(relaxed), slot.head.load(relaxed));
        let (words, _) = data.as_chunks_mut::<WORD_BYTES>();
        for (place, word) in slot.data.iter().zip(words) {
            *word = place.load(relaxed).to_ne_bytes();
            place.store(0, relaxed);
        }
        slot.counter.store(0, relaxed);
        slot.head.store(0, relaxed);
        self.next_pop.store(filled, relaxed);
        let free_again = position.wrapping_add(CAPACITY as u32).wrapping_sub(index);
        slot.turn.store(free_again, Ordering::Release);
        true
    }

    /// The events in the queue, those whose push is not complete included.
    #[must_use]
    pub fn len(&self) -> usize {
        // The position of the pop first: it never overtakes that of the push.
        let popped = self.next_pop.load(Ordering::Acquire);
        self.next_push.load(Ordering::Acquire).wrapping_sub(popped) as usize
    }

    /// Whether there is no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many events were given up so far: modulo 2^32 on 32-bit targets.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed) as u64
    }

    fn slot(&self, position: u32) -> (&Slot, u32) {
        let index = position % CAPACITY as u32;
        (&self.slots[index as usize], index)
    }
}

impl<const CAPACITY: usize> fmt::Debug for Queue<CAPACITY> {
    /// Shows no noise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn event(number: u32) -> Event {
        let mut event = Event::ZERO;
        event.set(number, number as usize, &number.to_le_bytes(), 3);
        event
    }

    fn pop<const CAPACITY: usize>(queue: &Queue<CAPACITY>) -> Option<Event> {
        let mut event = Event::ZERO;
        queue.pop_into(&mut event).then_some(event)
    }

    #[test]
    fn events_come_out_as_they_went_in_over_many_rounds() {
        let queue = Queue::<4>::ZERO;
        for number in 0..100 {
            assert!(queue.push(&event(number)));
            assert!(queue.push(&event(!number)));
            assert_eq!(pop(&queue), Some(event(number)));
            assert_eq!(pop(&queue), Some(event(!number)));
            assert_eq!(pop(&queue), None);
        }
        assert_eq!(queue.dropped(), 0);
    }

    #[test]
    fn a_full_queue_drops_the_newest_and_counts_it() {
        let queue = Queue::<4>::ZERO;
        let pushed: u32 = (0..10).map(|n| u32::from(queue.push(&event(n)))).sum();
        assert_eq!((pushed, queue.dropped()), (4, 6));
        for number in 0..4 {
            assert_eq!(pop(&queue), Some(event(number)));
        }
        assert_eq!(pop(&queue), None);
    }

    #[test]
    fn nothing_of_an_event_stays_in_the_queue() {
        let queue = Queue::<4>::ZERO;
        let mut event = Event::ZERO;
        event.set(7, 3, &[0xab; 32], 200);
        assert!(queue.push(&event));
        assert!(queue.pop_into(&mut event));
        for slot in &queue.slots {
            let relaxed = Ordering::Relaxed;
            assert_eq!(slot.counter.load(relaxed), 0);
            assert_eq!(slot.head.load(relaxed), 0);
            assert!(slot.data.iter().all(|word| word.load(relaxed) == 0));
        }
    }

    #[test]
    fn an_event_that_is_popped_takes_the_place_of_the_last_one_whole() {
        let queue = Queue::<4>::ZERO;
        let mut long = Event::ZERO;
        long.set(7, 3, &[0xab; 32], 200);
        assert!(queue.push(&event(5)));
        assert!(queue.pop_into(&mut long));
        assert_eq!(long, event(5));
    }
}
