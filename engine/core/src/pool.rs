//! Fortuna's accumulator: 32 pools that fill at the same pace and empty at very different paces.
//!
//! An attacker who makes some of the events can follow pool 0, and perhaps pool 1, from reseed to reseed. Pool i is used
//! only in every 2^i-th reseed, so that before its use some pool collects enough entropy that the attacker does not know
//! (FS&K 9.5).

use crate::event::Event;
pub use crate::event::POOLS;
use crate::node::{
    CAPACITY_BITS, DIGEST_BYTES, Inlet, READY_BITS, Seed, Sha256, finish_twice, for_node,
};
use crate::wipe;

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
