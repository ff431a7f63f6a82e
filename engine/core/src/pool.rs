//! Events, and Fortuna's pools that they go to.
//!
//! ```text
//! Event         up to 32 bytes of noise and a time stamp, on their way to one pool
//! Queue         carries events from the threads that mix data in to the owner of the pools
//! Accumulator   32 pools that fill at the same pace and empty at very different paces
//! ```
//!
//! A queue is bounded and lossy: a push tries once, gives up when the queue is full or another thread is pushing, and
//! counts the dropped events. A push never waits, so it may come from anywhere, a signal handler included.
//!
//! An attacker who makes some of the events can follow pool 0, and perhaps pool 1, from reseed to reseed. Pool i is used
//! only in every 2^i-th reseed, so that before its use some pool collects enough entropy that the attacker does not know
//! (FS&K 9.5).

use crate::generator::{DIGEST_BYTES, Sha256, finish_twice};
use crate::node::{READY_BITS, Seed};
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

const _: () = assert!(POOLS * DIGEST_BYTES == Seed::MAX_BYTES);

/// The bytes in pool 0 below which no reseed happens (FS&K's MinPoolSize, FreeBSD's
/// `RANDOM_FORTUNA_DEFPOOLSIZE`).
pub const MIN_POOL_BYTES: u32 = 64;

/// The least time between two reseeds: 100 ms (FS&K 9.5.5), against an attacker who drains the pools by
/// asking.
pub const RESEED_INTERVAL_MS: u64 = 100;

/// The most min-entropy that a digest can carry, in bits.
const POOL_CREDIT_BITS: u32 = 8 * DIGEST_BYTES as u32;

/// When a reseed may happen, and from which pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Fortuna's rule: when pool 0 has 64 bytes and the last reseed is 100 ms ago.
    Scheduled,
    /// When pool 0 has 64 bytes, without the 100 ms: an operator says so, and no attacker gives that command.
    Forced,
    /// Before an engine is ready: when all pools together have [`READY_BITS`] of credit; and then of all pools, unless
    /// pool 0 alone has as much. Less credit stays in the pools. If each small credit made a seed of its own, an attacker
    /// who reads early could guess them one by one.
    Pooled,
}

/// One pool: a running hash, how much went into it, and what that was credited.
#[repr(C)]
struct Pool {
    hash: Sha256,
    length_bytes: u32,
    credit_bits: u32,
}

impl Pool {
    const ZERO: Self = Self {
        hash: Sha256::ZERO,
        length_bytes: 0,
        credit_bits: 0,
    };

    fn absorb(&mut self, event: &Event) {
        self.mix(event);
        let length_bytes = 4 + event.data().len() as u32;
        self.length_bytes = self.length_bytes.saturating_add(length_bytes);
        self.credit_bits = (self.credit_bits + event.credit_bits()).min(POOL_CREDIT_BITS);
    }

    /// Adds an event and counts neither its bytes nor its credit.
    fn mix(&mut self, event: &Event) {
        self.hash.update(&event.counter().to_le_bytes());
        self.hash.update(event.data());
    }

    /// Appends the pool's digest to a seed; the pool is empty then.
    fn empty_into(&mut self, seed: &mut Seed) {
        finish_twice(&mut self.hash, seed.next_place(self.credit_bits));
        self.length_bytes = 0;
        self.credit_bits = 0;
    }
}

/// The 32 pools and the clock of their reseeds. One owner at a time.
#[repr(C)]
pub struct Accumulator {
    pools: [Pool; POOLS],
    last_reseed_ms: u64,
    reseeds: u32,
    /// The pool of the next event that is mixed in, modulo 32.
    next_mixed: u32,
}

impl Accumulator {
    /// The value of zeroed memory: empty pools and no reseed so far.
    pub const ZERO: Self = Self {
        pools: [const { Pool::ZERO }; POOLS],
        last_reseed_ms: 0,
        reseeds: 0,
        next_mixed: 0,
    };

    /// Adds an event to its pool (FS&K 9.5.6, AddRandomEvent).
    pub fn absorb(&mut self, event: &Event) {
        self.pools[event.pool()].absorb(event);
    }

    /// Adds an event of unknown origin to the pools, by turns. It counts for nothing: no amount of such data makes a
    /// reseed due. Otherwise a flood of it would empty the pools every 100 ms.
    pub fn mix(&mut self, event: &Event) {
        self.pools[self.next_mixed as usize % POOLS].mix(event);
        self.next_mixed = self.next_mixed.wrapping_add(1);
    }

    /// Writes the seed of the next reseed to `seed`, over its old content, if a reseed is due at `now_ms`.
    /// Returns whether it is; if not, `seed` is unchanged.
    ///
    /// FS&K 9.5.5, RandomData: "if length(P0) >= MinPoolSize and the last reseed is more than 100 ms ago:
    /// we need to reseed. ReseedCnt = ReseedCnt + 1; append the hashes of all the pools we will use: for i
    /// in 0..31, if 2^i divides ReseedCnt: s = s || SHAd-256(P_i), P_i = empty".
    pub fn take_seed(&mut self, now_ms: u64, trigger: Trigger, seed: &mut Seed) -> bool {
        if !self.is_due(now_ms, trigger) {
            return false;
        }
        self.last_reseed_ms = now_ms;
        self.reseeds = self.reseeds.wrapping_add(1);
        seed.clear();
        let takes_all = trigger == Trigger::Pooled && self.pools[0].credit_bits < READY_BITS;
        for (i, pool) in self.pools.iter_mut().enumerate() {
            if !takes_all && !self.reseeds.is_multiple_of(1 << i) {
                break;
            }
            pool.empty_into(seed);
        }
        true
    }

    /// Whether [`take_seed`](Self::take_seed) would yield a seed at `now_ms`.
    ///
    /// A clock that goes back makes a reseed due at once: it is the sign of a machine or process that was restored from
    /// a copy, and waiting for the old time could take days.
    #[must_use]
    pub fn is_due(&self, now_ms: u64, trigger: Trigger) -> bool {
        let has_bytes = self.pools[0].length_bytes >= MIN_POOL_BYTES;
        match trigger {
            Trigger::Scheduled => has_bytes && self.is_time(now_ms),
            Trigger::Forced => has_bytes,
            Trigger::Pooled => self.credit_bits() >= READY_BITS,
        }
    }

    fn is_time(&self, now_ms: u64) -> bool {
        match now_ms.checked_sub(self.last_reseed_ms) {
            // No reseed so far; or 2^32, and then an early reseed costs nothing.
            _ if self.reseeds == 0 => true,
            // The clock went back.
            None => true,
            Some(passed_ms) => passed_ms >= RESEED_INTERVAL_MS,
        }
    }

    /// The credit of all pools together, in bits.
    fn credit_bits(&self) -> u32 {
        self.pools.iter().map(|pool| pool.credit_bits).sum()
    }

    /// The seeds taken so far, modulo 2^32: FS&K's ReseedCnt.
    #[must_use]
    pub const fn reseeds(&self) -> u32 {
        self.reseeds
    }

    /// The bytes of the events that were [absorbed](Self::absorb) by a pool, headers included, and their credit in bits,
    /// at most 256.
    ///
    /// # Panics
    ///
    /// If there is no such pool.
    #[must_use]
    pub const fn fill_of(&self, pool: usize) -> (u32, u32) {
        let pool = &self.pools[pool];
        (pool.length_bytes, pool.credit_bits)
    }

    /// The bytes in pool 0, event headers included.
    #[must_use]
    pub const fn first_pool_bytes(&self) -> u32 {
        self.pools[0].length_bytes
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
