//! Adds events to the pools, and hands seeds from the pools to the nodes.
//!
//! Every reseed goes to node 0. Once node 0 is ready, every reseed also hands a seed to the node whose turn it is, read
//! or not: so an old image of a node's memory says nothing about its next output. If that node has three quarters of
//! [`CAPACITY_BITS`] or more of credit left, another node with less credit gets a seed too. The per-node pools once
//! proposed for Linux had the same rules.
//!
//! Used alone, these rules would weaken recovery. Reseed number r uses pool i when 2^i divides r, so a node that is
//! served by every second reseed, for example, and gets only that reseed's seed, would never get anything from a pool
//! other than 0: an attacker who knows pool 0 would always know that node. So a node's seed is taken from a *chain* over
//! all seeds so far, so that what recovers the root recovers every node within one round.
//!
//! An [order](Distribution::order) reaches all nodes at once: each hashes in the chain.

use crate::generator::{DIGEST_BYTES, Sha256, finish_twice, for_node};
use crate::node::{CAPACITY_BITS, Inlet, Seed};
use crate::pool::{Accumulator, Event, Trigger};
use crate::wipe;

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
