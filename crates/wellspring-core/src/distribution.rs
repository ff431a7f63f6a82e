//! Adds events to the pools, and posts seeds from the pools to the nodes.
//!
//! Every reseed goes to node 0. Once that is ready, every reseed also hands a seed to one other node: in turn, first
//! to those whose credit is below three quarters of [`CAPACITY_BITS`]. The rules are those of the per-node pools once
//! proposed for Linux.
//!
//! Used alone, these rules would weaken recovery. Reseed number r uses pool i when 2^i divides r, so a node that is
//! served by every second reseed, for example, and gets only that reseed's seed, would never get anything from a pool
//! other than 0: an attacker who knows pool 0 would always know that node. So a node's seed is taken from a *chain* over
//! all seeds so far, so that what recovers the root recovers every node within one round.

use crate::event::Event;
use crate::hash::{DIGEST_BYTES, Sha256, finish_twice, for_node};
use crate::inlet::{CAPACITY_BITS, Inlet};
use crate::pool::{Accumulator, Pace};
use crate::seed::Seed;
use crate::wipe;

/// Below this credit a node is served before others: 75 % of its capacity.
const SERVED_FIRST_BELOW_BITS: u32 = CAPACITY_BITS / 4 * 3;

/// The pools, the chain that nodes other than 0 are seeded from, and whose turn it is. One owner at a time.
#[repr(C)]
pub struct Distribution {
    accumulator: Accumulator,
    chain: [u8; DIGEST_BYTES],
    /// The node that was served last; 0 before the first.
    last_node: u32,
    _reserved: u32,
    /// The buffer of a seed while it is posted; empty at other times.
    seed: Seed,
}

impl Distribution {
    /// The value of zeroed memory: empty pools, and no seed handed out so far.
    pub const ZERO: Self = Self {
        accumulator: Accumulator::ZERO,
        chain: [0; DIGEST_BYTES],
        last_node: 0,
        _reserved: 0,
        seed: Seed::ZERO,
    };

    /// Adds an event to its pool.
    pub fn absorb(&mut self, event: &Event) {
        self.accumulator.absorb(event);
    }

    /// The pools.
    #[must_use]
    pub const fn accumulator(&self) -> &Accumulator {
        &self.accumulator
    }

    /// Reseeds, if a reseed is due at `now_ms` and the mailbox of node 0 is empty: posts the seed to node 0 and one
    /// derived from the chain to another node.
    ///
    /// If readers use other nodes only, the mailbox of node 0 stays full and every reseed stops. So the caller must
    /// let node 0 take its seed before this call, if any node has taken one since the last call.
    ///
    /// `nodes` is the number of nodes that serve readers (1 before the engine is ready). Returns whether a seed was
    /// posted; then the caller must bump the generation.
    pub fn deliver<'a>(
        &mut self,
        now_ms: u64,
        pace: Pace,
        nodes: usize,
        inlet: impl Fn(usize) -> &'a Inlet,
    ) -> bool {
        let root = inlet(0);
        if !root.is_empty() || !self.accumulator.take_seed(now_ms, pace, &mut self.seed) {
            return false;
        }
        let posted = root.post(&self.seed);
        debug_assert!(
            posted,
            "only the owner of the pools posts to node 0, and its mailbox was empty"
        );
        self.extend_chain();
        if nodes > 1 {
            self.hand_out(nodes, inlet);
        }
        self.seed.clear();
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

    /// Posts a seed made of the chain, credited like the present one, to the node whose turn it is.
    fn hand_out<'a>(&mut self, nodes: usize, inlet: impl Fn(usize) -> &'a Inlet) {
        let credit_bits = self.seed.credit_bits().min(8 * DIGEST_BYTES as u32);
        let chosen = self.choose(nodes, |number| {
            let inlet = inlet(number);
            inlet.is_empty().then(|| inlet.credit_bits())
        });
        if let Some(number) = chosen {
            self.last_node = number as u32;
            let mut hash = for_node(b"wellspring node seed", number);
            hash.update(&self.chain);
            self.seed.clear();
            self.seed
                .append_with(credit_bits, |digest| finish_twice(&mut hash, digest));
            let _ = inlet(number).post(&self.seed);
        }
    }

    /// The next node after the last one served whose credit is below 75 %; the next at all if none is. A
    /// node whose mailbox is full (`None`) has not taken its last seed, and is skipped.
    fn choose(&self, nodes: usize, credit_bits: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let others = nodes - 1;
        let last = self.last_node as usize;
        let in_turn = || (0..others).map(|step| 1 + (last + step) % others);
        in_turn()
            .find(|&number| {
                credit_bits(number).is_some_and(|credit| credit < SERVED_FIRST_BELOW_BITS)
            })
            .or_else(|| in_turn().find(|&number| credit_bits(number).is_some()))
    }
}

impl Drop for Distribution {
    fn drop(&mut self) {
        wipe(&mut self.chain);
    }
}
