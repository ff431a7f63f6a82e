//! Events, and the queue that carries them from whoever has noise to whoever owns the pools.
//!
//! A queue is bounded and lossy: who feeds it takes one try, gives up when the queue is full or someone
//! else is at it, and counts what it dropped. It can be fed from anywhere, a signal handler included.

use crate::pool::POOLS;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// An event: up to 32 bytes of noise and a time stamp, on their way to one pool.
#[derive(Clone, Debug, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
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

    /// An event for pool `destination` modulo 32, with the low 32 bits of a cycle counter.
    ///
    /// Data beyond [`MAX_BYTES`](Self::MAX_BYTES) is cut off; credit is at most 8 bits for each byte of data.
    #[must_use]
    pub fn new(counter: u32, destination: usize, data: &[u8], credit_bits: u32) -> Self {
        let length = data.len().min(Self::MAX_BYTES);
        let mut event = Self {
            counter,
            pool: (destination % POOLS) as u8,
            length_bytes: length as u8,
            credit_bits: credit_bits.min(8 * length as u32) as u16,
            data: [0; Self::MAX_BYTES],
        };
        event.data[..length].copy_from_slice(&data[..length]);
        event
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

    fn to_words(&self) -> [u64; EVENT_WORDS] {
        let head = u64::from(self.counter)
            | u64::from(self.pool) << 32
            | u64::from(self.length_bytes) << 40
            | u64::from(self.credit_bits) << 48;
        let mut words = [head; EVENT_WORDS];
        for (word, bytes) in words[1..].iter_mut().zip(self.data.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        }
        words
    }

    fn from_words(words: &[u64; EVENT_WORDS]) -> Self {
        let mut event = Self {
            counter: words[0] as u32,
            pool: (words[0] >> 32) as u8 % POOLS as u8,
            length_bytes: ((words[0] >> 40) as u8).min(Self::MAX_BYTES as u8),
            credit_bits: (words[0] >> 48) as u16,
            data: [0; Self::MAX_BYTES],
        };
        for (bytes, word) in event.data.chunks_exact_mut(8).zip(&words[1..]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        event
    }
}

const EVENT_WORDS: usize = 1 + Event::MAX_BYTES / 8;

/// A queue of events: many feed it, the owner of the pools drains it.
///
/// All zeros is an empty queue, so that a queue in memory that was wiped (in a child process) is as new,
/// whatever the parent's threads were doing to it. The protocol is Dmitry Vyukov's bounded queue: a slot's
/// turn says whether it waits for the push of this round or for the pop; it is stored less the slot's
/// index, which makes the first round's value zero.
#[derive(Debug)]
#[cfg_attr(not(loom), derive(bytemuck::Zeroable))]
#[repr(C)]
pub struct Queue<const CAPACITY: usize = 64> {
    next_push: AtomicU32,
    next_pop: AtomicU32,
    dropped: AtomicU64,
    slots: [Slot; CAPACITY],
}

#[derive(Debug)]
#[cfg_attr(not(loom), derive(bytemuck::Zeroable))]
#[repr(C)]
struct Slot {
    turn: AtomicU32,
    words: [AtomicU64; EVENT_WORDS],
}

impl<const CAPACITY: usize> Queue<CAPACITY> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        // A power of two, because positions wrap at 2^32; two, because a slot's turn must tell the pop of
        // this round from the push of the next.
        const { assert!(CAPACITY.is_power_of_two() && CAPACITY >= 2) };
        Self {
            next_push: AtomicU32::new(0),
            next_pop: AtomicU32::new(0),
            dropped: AtomicU64::new(0),
            slots: core::array::from_fn(|_| Slot {
                turn: AtomicU32::new(0),
                words: core::array::from_fn(|_| AtomicU64::new(0)),
            }),
        }
    }

    /// Adds an event, or gives up at once: when the queue is full or another thread is feeding it at this
    /// very moment. Says whether the event went in.
    pub fn push(&self, event: &Event) -> bool {
        let position = self.next_push.load(Ordering::Relaxed);
        let (slot, index) = self.slot(position);
        let free = slot.turn.load(Ordering::Acquire).wrapping_add(index) == position;
        let claimed = free
            && self
                .next_push
                .compare_exchange(
                    position,
                    position.wrapping_add(1),
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok();
        if !claimed {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        for (word, value) in slot.words.iter().zip(event.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
        let filled = position.wrapping_add(1).wrapping_sub(index);
        slot.turn.store(filled, Ordering::Release);
        true
    }

    /// Takes the oldest event, if its push is complete. One caller at a time: the owner of the pools.
    ///
    /// The slot is erased before it is given back.
    pub fn pop(&self) -> Option<Event> {
        let position = self.next_pop.load(Ordering::Relaxed);
        let (slot, index) = self.slot(position);
        let filled = position.wrapping_add(1);
        if slot.turn.load(Ordering::Acquire).wrapping_add(index) != filled {
            return None;
        }
        let mut words = core::array::from_fn(|i| slot.words[i].load(Ordering::Relaxed));
        for word in &slot.words {
            word.store(0, Ordering::Relaxed);
        }
        let event = Event::from_words(&words);
        words.zeroize();
        self.next_pop.store(filled, Ordering::Relaxed);
        let free_again = position.wrapping_add(CAPACITY as u32).wrapping_sub(index);
        slot.turn.store(free_again, Ordering::Release);
        Some(event)
    }

    /// How many events were given up so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn slot(&self, position: u32) -> (&Slot, u32) {
        let index = position % CAPACITY as u32;
        (&self.slots[index as usize], index)
    }
}

impl<const CAPACITY: usize> Default for Queue<CAPACITY> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn numbered(number: u32) -> Event {
        Event::new(number, number as usize, &number.to_le_bytes(), 3)
    }

    #[test]
    fn events_come_out_as_they_went_in_over_many_rounds() {
        let queue = Queue::<4>::new();
        for number in 0..100 {
            assert!(queue.push(&numbered(number)));
            assert!(queue.push(&numbered(!number)));
            assert_eq!(queue.pop(), Some(numbered(number)));
            assert_eq!(queue.pop(), Some(numbered(!number)));
            assert_eq!(queue.pop(), None);
        }
        assert_eq!(queue.dropped(), 0);
    }

    #[test]
    fn a_full_queue_drops_the_newest_and_counts_it() {
        let queue = Queue::<4>::new();
        let pushed: u32 = (0..10).map(|n| u32::from(queue.push(&numbered(n)))).sum();
        assert_eq!((pushed, queue.dropped()), (4, 6));
        for number in 0..4 {
            assert_eq!(queue.pop(), Some(numbered(number)));
        }
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn nothing_of_an_event_stays_in_the_queue() {
        let queue = Queue::<4>::new();
        queue.push(&Event::new(7, 3, &[0xab; 32], 200));
        queue.pop();
        let words = queue.slots.iter().flat_map(|slot| &slot.words);
        assert!(
            words
                .into_iter()
                .all(|word| word.load(Ordering::Relaxed) == 0)
        );
    }

    #[test]
    fn zeroed_memory_is_an_empty_queue() {
        let queue: Queue<4> = bytemuck::Zeroable::zeroed();
        assert_eq!(queue.pop(), None);
        assert!(queue.push(&numbered(5)));
        assert_eq!(queue.pop(), Some(numbered(5)));
    }

    #[test]
    fn an_event_is_credited_at_most_the_bits_it_has() {
        assert_eq!(Event::new(0, 0, &[1, 2], 1000).credit_bits(), 16);
        assert_eq!(Event::new(0, 0, &[1; 40], 1000).data().len(), 32);
        assert_eq!(Event::new(0, 32 * 8 + 5, &[], 0).pool(), 5);
    }
}
