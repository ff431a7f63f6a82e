//! Adds events to the pools, and hands seeds from the pools to the nodes.
//!
//! Every reseed goes to node 0. Once that is ready, every reseed also hands a seed to the node whose turn it is, read or
//! not: so an old image of a node's memory says nothing about its next output. If that node has three quarters of
//! [`CAPACITY_BITS`] or more of credit left, another one that has less gets a seed too. The rules are those of the
//! per-node pools once proposed for Linux.
//!
//! Used alone, these rules would weaken recovery. Reseed number r uses pool i when 2^i divides r, so a node that is
//! served by every second reseed, for example, and gets only that reseed's seed, would never get anything from a pool
//! other than 0: an attacker who knows pool 0 would always know that node. So a node's seed is taken from a *chain* over
//! all seeds so far, so that what recovers the root recovers every node within one round.
//!
//! An [order](Distribution::order) reaches all nodes at once: each hashes in the chain.

use crate::event::Event;
use crate::hash::{DIGEST_BYTES, Sha256, finish_twice, for_node};
use crate::inlet::{CAPACITY_BITS, Inlet};
use crate::pool::{Accumulator, Trigger};
use crate::seed::Seed;
use crate::wipe;

/// Below this credit a node is served out of its turn too: 75 % of its capacity.
const SERVED_OFTEN_BELOW_BITS: u32 = CAPACITY_BITS / 4 * 3;

/// The pools, the chain that nodes other than 0 are seeded from, and whose turn it is. One owner at a time.
#[repr(C)]
pub struct Distribution {
    accumulator: Accumulator,
    chain: [u8; DIGEST_BYTES],
    /// A hash over all that was mixed in since the last order.
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

    /// The hash over all seeds, and all that was mixed in before the last order. Every node hashes it in after an
    /// [order](Self::order).
    #[must_use]
    pub const fn chain(&self) -> &[u8; DIGEST_BYTES] {
        &self.chain
    }

    /// Reseeds, if a reseed is due at `now_ms`: posts the seed to node 0 and one derived from the chain to the node whose
    /// turn it is.
    ///
    /// `nodes` is the number of nodes that serve readers (1 before the engine is ready). `make_room` lets a node take the
    /// seed in its mailbox, if that needs no waiting, and returns whether the mailbox is empty. What node 0 has no room
    /// for stays in the pools. Returns whether a seed was posted; then the caller must bump the generation.
    pub fn deliver<'a>(
        &mut self,
        now_ms: u64,
        trigger: Trigger,
        nodes: usize,
        inlet: impl Fn(usize) -> &'a Inlet,
        make_room: impl Fn(usize) -> bool,
    ) -> bool {
        if !self.accumulator.is_due(now_ms, trigger)
            || !make_room(0)
            || !self.take_seed(now_ms, trigger, inlet(0))
        {
            return false;
        }
        if nodes > 1 {
            self.hand_out(nodes, inlet, make_room);
        }
        self.seed.clear();
        true
    }

    /// Reseeds by order: posts a seed to node 0, whose mailbox the caller has emptied. What was mixed in before goes to
    /// the chain, also if there is no seed, because the sources yielded too little.
    ///
    /// Returns whether there was a seed. In both cases the caller must let every node take the seed in its mailbox and
    /// then hash in the [chain](Self::chain), before it bumps the generation.
    #[must_use]
    pub fn order(&mut self, now_ms: u64, trigger: Trigger, root: &Inlet) -> bool {
        self.seed.clear();
        self.seed
            .append_with(0, |digest| finish_twice(&mut self.mixed, digest));
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

    /// Posts seeds made of the chain, credited like the present one: to the node whose turn it is; and if that has much
    /// credit left, to one with less.
    fn hand_out<'a>(
        &mut self,
        nodes: usize,
        inlet: impl Fn(usize) -> &'a Inlet,
        make_room: impl Fn(usize) -> bool,
    ) {
        let credit_bits = self.seed.credit_bits().min(8 * DIGEST_BYTES as u32);
        let is_short = |number: usize| inlet(number).credit_bits() < SERVED_OFTEN_BELOW_BITS;
        // The lock of a node that has no room is held by a reader, who takes the seed in its mailbox now.
        let next = after(self.last_node, nodes).find(|&number| make_room(number));
        let is_next_short = next.is_some_and(is_short);
        if let Some(number) = next {
            self.last_node = number as u32;
            self.post_to(number, credit_bits, inlet(number));
        }
        if !is_next_short {
            let mut others = after(self.last_out_of_turn, nodes);
            let other = others
                .find(|&number| Some(number) != next && is_short(number) && make_room(number));
            if let Some(number) = other {
                self.last_out_of_turn = number as u32;
                self.post_to(number, credit_bits, inlet(number));
            }
        }
    }

    /// Posts a seed made of the chain for this node alone.
    fn post_to(&mut self, number: usize, credit_bits: u32, inlet: &Inlet) {
        let mut hash = for_node(b"wellspring node seed", number);
        hash.update(&self.chain);
        self.seed.clear();
        self.seed
            .append_with(credit_bits, |digest| finish_twice(&mut hash, digest));
        let _ = inlet.post(&self.seed);
    }
}

/// The nodes other than 0, in turn, beginning with the one after `last`.
fn after(last: u32, nodes: usize) -> impl Iterator<Item = usize> {
    let others = nodes - 1;
    (0..others).map(move |step| 1 + (last as usize + step) % others)
}

impl Drop for Distribution {
    fn drop(&mut self) {
        wipe(&mut self.chain);
    }
}
