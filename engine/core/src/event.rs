//! An event: some noise and a time stamp, on their way to one pool. A queue carries events from the threads that mix data in to
//! the owner of the pools.
//!
//! A queue is bounded and lossy: a push tries once, gives up when the queue is full or another thread is pushing, and
//! counts the dropped events. A push never waits, so it may come from anywhere, a signal handler included.

use crate::sync::{AtomicU32, AtomicUsize, Ordering, WORD_BYTES};
use crate::wipe;
use core::fmt;
use zeroize::Zeroize;

/// The number of pools: at ten reseeds a second the last is used once in 6.8 years (FS&K 9.5.2).
pub const POOLS: usize = 32;

/// Up to 32 bytes of noise and a time stamp. Filled in place, and wiped on drop.
#[derive(PartialEq, Eq)]
#[repr(C)]
pub struct Event {
    counter: u32,
    pool: u8,
    length_bytes: u8,
    credit_bits: u16,
    data: [u8; Self::MAX_BYTES],
}

impl Event {
    /// The most data an event carries, in bytes (FS&K 9.5.3.1).
    pub const MAX_BYTES: usize = 32;

    /// The value of zeroed memory: an event without data, for pool 0.
    pub const ZERO: Self = Self {
        counter: 0,
        pool: 0,
        length_bytes: 0,
        credit_bits: 0,
        data: [0; Self::MAX_BYTES],
    };

    /// Makes this an event for pool `destination` modulo 32, with the low 32 bits of a cycle counter.
    ///
    /// Data beyond [`MAX_BYTES`](Self::MAX_BYTES) is cut off; credit is at most 8 bits for each byte of data.
    pub fn set(&mut self, counter: u32, destination: usize, data: &[u8], credit_bits: u32) {
        let length = data.len().min(Self::MAX_BYTES);
        self.zeroize();
        self.counter = counter;
        self.pool = (destination % POOLS) as u8;
        self.length_bytes = length as u8;
        self.credit_bits = credit_bits.min(8 * length as u32) as u16;
        self.data[..length].copy_from_slice(&data[..length]);
    }

    /// The time stamp.
    #[must_use]
    pub const fn counter(&self) -> u32 {
        self.counter
    }

    /// The number of the pool it goes to.
    #[must_use]
    pub const fn pool(&self) -> usize {
        self.pool as usize
    }

    /// The noise.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data[..usize::from(self.length_bytes)]
    }

    /// The min-entropy it is credited, in bits.
    #[must_use]
    pub const fn credit_bits(&self) -> u32 {
        self.credit_bits as u32
    }

    /// All but time stamp and data, in a word for a queue.
    pub(crate) const fn head(&self) -> u32 {
        self.pool as u32 | (self.length_bytes as u32) << 8 | (self.credit_bits as u32) << 16
    }

    /// Sets time stamp and [`head`](Self::head), and returns the place of all 32 bytes of data.
    #[inline]
    pub(crate) fn set_head(&mut self, counter: u32, head: u32) -> &mut [u8; Self::MAX_BYTES] {
        self.counter = counter;
        self.pool = (head % POOLS as u32) as u8;
        self.length_bytes = ((head >> 8) as u8).min(Self::MAX_BYTES as u8);
        self.credit_bits = (head >> 16) as u16;
        &mut self.data
    }

    /// All 32 bytes of data: zeros after the noise.
    pub(crate) const fn padded_data(&self) -> &[u8; Self::MAX_BYTES] {
        &self.data
    }
}

impl Zeroize for Event {
    fn zeroize(&mut self) {
        self.counter.zeroize();
        self.pool.zeroize();
        self.length_bytes.zeroize();
        self.credit_bits.zeroize();
        wipe(&mut self.data);
    }
}

impl Drop for Event {
    #[inline]
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl fmt::Debug for Event {
    /// Shows no noise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("counter", &self.counter)
            .field("pool", &self.pool)
            .field("length_bytes", &self.length_bytes)
            .field("credit_bits", &self.credit_bits)
            .finish_non_exhaustive()
    }
}

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

    /// The events in the queue, unfinished pushes included.
    #[must_use]
    pub fn len(&self) -> usize {
        // The position of the pop first: it never overtakes the position of the push.
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

    fn event(destination: usize, data: &[u8], credit_bits: u32) -> Event {
        let mut event = Event::ZERO;
        event.set(0, destination, data, credit_bits);
        event
    }

    #[test]
    fn an_event_is_credited_at_most_the_bits_it_has() {
        assert_eq!(event(0, &[1, 2], 1000).credit_bits(), 16);
        assert_eq!(event(0, &[1; 40], 1000).data().len(), 32);
        assert_eq!(event(32 * 8 + 5, &[], 0).pool(), 5);
    }

    #[test]
    fn nothing_of_the_last_event_stays_behind_a_shorter_one() {
        let mut event = event(0, &[0xab; 32], 9);
        event.set(1, 2, &[1], 0);
        assert_eq!(event.data(), [1]);
        assert_eq!(event.padded_data()[1..], [0; 31]);
    }

    fn numbered(number: u32) -> Event {
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
            assert!(queue.push(&numbered(number)));
            assert!(queue.push(&numbered(!number)));
            assert_eq!(pop(&queue), Some(numbered(number)));
            assert_eq!(pop(&queue), Some(numbered(!number)));
            assert_eq!(pop(&queue), None);
        }
        assert_eq!(queue.dropped(), 0);
    }

    #[test]
    fn a_full_queue_drops_the_newest_and_counts_it() {
        let queue = Queue::<4>::ZERO;
        let pushed: u32 = (0..10).map(|n| u32::from(queue.push(&numbered(n)))).sum();
        assert_eq!((pushed, queue.dropped()), (4, 6));
        for number in 0..4 {
            assert_eq!(pop(&queue), Some(numbered(number)));
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
        assert!(queue.push(&numbered(5)));
        assert!(queue.pop_into(&mut long));
        assert_eq!(long, numbered(5));
    }
}
