//! Events, Fortuna's pools that they go to, and the seeds that the pools give to the nodes.
//!
//! ```text
//! Event         up to 32 bytes of noise and a time stamp, on their way to one pool
//! Queue         carries events from the threads that mix data in to the owner of the pools
//! Accumulator   32 pools that fill at the same pace and empty at very different paces
//! Distribution  adds events to the pools, and hands seeds from the pools to the nodes
//! ```
//!
//! A queue is bounded and lossy: a push tries once, gives up when the queue is full or another thread is pushing, and
//! counts the dropped events. A push never waits, so it may come from anywhere, a signal handler included.
//!
//! An attacker who makes some of the events can follow pool 0, and perhaps pool 1, from reseed to reseed. Pool i is used
//! only in every 2^i-th reseed, so that before its use some pool collects enough entropy that the attacker does not know
//! (FS&K 9.5).

use crate::node::{
    CAPACITY_BITS, DIGEST_BYTES, Inlet, READY_BITS, Seed, Sha256, finish_twice, for_node,
};
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

// Adds events to the pools, and hands seeds from the pools to the nodes.
//
// Every reseed goes to node 0. Once node 0 is ready, every reseed also hands a seed to the node whose turn it is, read
// or not: so an old image of a node's memory says nothing about its next output. If that node has three quarters of
// [`CAPACITY_BITS`] or more of credit left, another node with less credit gets a seed too. The per-node pools once
// proposed for Linux had the same rules.
//
// Used alone, these rules would weaken recovery. Reseed number r uses pool i when 2^i divides r, so a node that is
// served by every second reseed, for example, and gets only that reseed's seed, would never get anything from a pool
// other than 0: an attacker who knows pool 0 would always know that node. So a node's seed is taken from a *chain* over
// all seeds so far, so that what recovers the root recovers every node within one round.
//
// An [order](Distribution::order) reaches all nodes at once: each hashes in the chain.

/// Below this credit a node is served out of its turn too: 75 % of its capacity.
const SERVED_OFTEN_BELOW_BITS: u32 = CAPACITY_BITS / 4 * 3;

/// The pools, the chain that nodes other than 0 are seeded from, and whose turn it is. One owner at a time.
#[repr(C)]
pub struct Distribution {
    accumulator: Accumulator,
    chain: [u8; DIGEST_BYTES],
    /// A hash over all data that was mixed in since the last order.
    mixed: Sha256,
    /// The node that was served last in its turn; 0 before the first.
    last_node: u32,
    /// The node that was served last out of its turn; 0 before the first.
    last_out_of_turn: u32,
    /// The buffer of a seed while it is posted; empty at other times.
    seed: Seed,
}

impl Distribution {
    /// The value of zeroed memory: empty pools, and no seed handed out so far.
    pub const ZERO: Self = Self {
        accumulator: Accumulator::ZERO,
        chain: [0; DIGEST_BYTES],
        mixed: Sha256::ZERO,
        last_node: 0,
        last_out_of_turn: 0,
        seed: Seed::ZERO,
    };

    /// Adds an event to its pool.
    pub fn absorb(&mut self, event: &Event) {
        self.accumulator.absorb(event);
    }

    /// Adds an event of unknown origin, which counts for nothing: see [`Accumulator::mix`]. The next order takes it in.
    pub fn mix(&mut self, event: &Event) {
        self.accumulator.mix(event);
        self.mixed.update(&event.counter().to_le_bytes());
        self.mixed.update(event.data());
    }

    /// The pools.
    #[must_use]
    pub const fn accumulator(&self) -> &Accumulator {
        &self.accumulator
    }

    /// The hash over all seeds, and all data that was mixed in before the last order. Every node hashes it in
    /// after an [order](Self::order).
    #[must_use]
    pub const fn chain(&self) -> &[u8; DIGEST_BYTES] {
        &self.chain
    }

    /// Reseeds, if a reseed is due at `now_ms`: posts the seed to node 0, whose mailbox must be empty then. What it has no room
    /// for stays in the pools.
    ///
    /// `nodes` is the number of nodes that serve readers (1 before the engine is ready). If a seed was posted, the caller hands
    /// out the seeds of the [`Round`], and then must bump the generation:
    ///
    /// ```text
    /// while let Some(number) = distribution.next(&mut round) {
    ///     if round.wants(number, inlet) && (the mailbox is empty, or the node takes the seed in it without waiting) {
    ///         distribution.post(&mut round, number, inlet);
    ///     }
    /// }
    /// ```
    pub fn deliver(
        &mut self,
        now_ms: u64,
        trigger: Trigger,
        nodes: usize,
        root: &Inlet,
    ) -> Option<Round> {
        if !root.is_empty() || !self.take_seed(now_ms, trigger, root) {
            return None;
        }
        let credit_bits = self.seed.credit_bits().min(8 * DIGEST_BYTES as u32);
        self.seed.clear();
        Some(Round {
            others: nodes - 1,
            credit_bits,
            tried: 0,
            served: None,
        })
    }

    /// The next node that may get a seed: all nodes but 0, in turn; then all again, to find a node that gets a seed out
    /// of its turn.
    pub fn next(&self, round: &mut Round) -> Option<usize> {
        if round.tried == 2 * round.others {
            return None;
        }
        let last = if round.tried < round.others {
            self.last_node
        } else {
            self.last_out_of_turn
        };
        let step = last as usize + round.tried;
        round.tried += 1;
        Some(1 + step % round.others)
    }

    /// Posts the seed of a node that [`next`](Self::next) gave, that the round [wants](Round::wants), and whose mailbox is
    /// empty.
    pub fn post(&mut self, round: &mut Round, number: usize, inlet: &Inlet) {
        if round.is_in_turn() {
            self.last_node = number as u32;
            round.served = Some(number);
            // A node with much credit left: another node gets a seed too.
            let is_enough = is_short(inlet);
            round.tried = if is_enough { 2 } else { 1 } * round.others;
        } else {
            self.last_out_of_turn = number as u32;
            round.tried = 2 * round.others;
        }
        let mut hash = for_node(b"wellspring node seed", number);
        hash.update(&self.chain);
        self.seed.clear();
        finish_twice(&mut hash, self.seed.next_place(round.credit_bits));
        let _ = inlet.post(&self.seed);
        self.seed.clear();
    }

    /// Reseeds by order: posts a seed to node 0, whose mailbox the caller has emptied. Data mixed in before goes to the
    /// chain even if there is no seed because the sources yielded too little.
    ///
    /// Returns whether there was a seed. In both cases the caller must let every node take the seed in its mailbox and
    /// then hash in the [chain](Self::chain), before it bumps the generation.
    #[must_use]
    pub fn order(&mut self, now_ms: u64, trigger: Trigger, root: &Inlet) -> bool {
        self.seed.clear();
        finish_twice(&mut self.mixed, self.seed.next_place(0));
        self.extend_chain();
        let is_seeded = self.take_seed(now_ms, trigger, root);
        self.seed.clear();
        is_seeded
    }

    /// Takes a seed from the pools, if one is due, posts it to node 0, whose mailbox is empty, and extends the chain.
    fn take_seed(&mut self, now_ms: u64, trigger: Trigger, root: &Inlet) -> bool {
        if !self.accumulator.take_seed(now_ms, trigger, &mut self.seed) {
            return false;
        }
        let posted = root.post(&self.seed);
        debug_assert!(
            posted,
            "only the owner of the pools posts to node 0, and its mailbox was empty"
        );
        self.extend_chain();
        posted
    }

    /// Hashes the seed into the chain. One way: the chain reveals nothing about its earlier values.
    fn extend_chain(&mut self) {
        let mut hash = Sha256::ZERO;
        hash.update(b"wellspring seed chain");
        hash.update(&self.chain);
        hash.update(self.seed.bytes());
        finish_twice(&mut hash, &mut self.chain);
    }
}

/// The seeds of one reseed for nodes other than 0, made of the chain and credited like the seed of node 0.
///
/// The node whose turn it is gets a seed; if it has much credit left, a node with less gets one too. A node without room is
/// passed over: a reader holds its lock, and takes the seed in its mailbox now.
#[derive(Debug)]
pub struct Round {
    /// How many nodes there are but node 0.
    others: usize,
    credit_bits: u32,
    /// How many nodes were tried: up to `others` in turn, and then out of turn.
    tried: usize,
    /// The node that was served in its turn.
    served: Option<usize>,
}

impl Round {
    /// Whether a node gets a seed, if it has room.
    #[must_use]
    pub fn wants(&self, number: usize, inlet: &Inlet) -> bool {
        self.is_in_turn() || self.served != Some(number) && is_short(inlet)
    }

    /// Whether the node that was given last was given in its turn.
    fn is_in_turn(&self) -> bool {
        self.tried <= self.others
    }
}

/// Whether a node has so little credit left that it is served out of its turn.
fn is_short(inlet: &Inlet) -> bool {
    inlet.credit_bits() < SERVED_OFTEN_BELOW_BITS
}

impl Drop for Distribution {
    fn drop(&mut self) {
        wipe(&mut self.chain);
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
