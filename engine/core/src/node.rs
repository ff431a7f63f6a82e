//! A generator per NUMA node.
//!
//! Node 0 holds the root: every reseed reseeds it, exactly as Fortuna says. Until one seed has brought it
//! [`READY_BITS`] of credit it is the only node with a seed. Then each other node is initialised from it. `distribution`
//! says which node gets which seed after that.

use crate::generator::{Generator, Reservation};
use crate::hash::{DIGEST_BYTES, Sha256, finish_twice, for_node};
use crate::inlet::Inlet;
use crate::seed::{READY_BITS, Seed};
use wellspring_cipher::{Backend, KEY_BYTES};

/// A node's generator. The owner of the memory puts it behind a lock.
#[repr(C)]
pub struct Node {
    generator: Generator,
    /// The credit of the seed that had the most.
    credited_bits: u64,
    reseeds: u64,
    /// The buffer of a seed while it is hashed; empty at other times.
    seed: Seed,
    _reserved: u64,
}

impl Node {
    /// The value of zeroed memory: a node that never got a seed.
    pub const ZERO: Self = Self {
        generator: Generator::ZERO,
        credited_bits: 0,
        reseeds: 0,
        seed: Seed::ZERO,
        _reserved: 0,
    };

    /// Empties the mailbox into the generator. To be called first under the lock, before anything is read.
    pub fn receive(&mut self, inlet: &Inlet) {
        if inlet.take_into(&mut self.seed) {
            self.generator.reseed(self.seed.bytes());
            let credited_bits = u64::from(self.seed.credit_bits());
            self.credited_bits = self.credited_bits.max(credited_bits);
            self.reseeds += 1;
            self.seed.clear();
        }
    }

    /// Whether the generator has a seed, with or without credit. Then an engine's `fill_early` may read from it.
    #[must_use]
    pub const fn has_seed(&self) -> bool {
        self.generator.is_seeded()
    }

    /// Whether one seed brought [`READY_BITS`] of credit. Then all reads are served, and other nodes can be initialised.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.credited_bits >= READY_BITS as u64
    }

    /// The credit of the seed that had the most so far, in bits.
    #[must_use]
    pub const fn credited_bits(&self) -> u64 {
        self.credited_bits
    }

    /// How often it was reseeded so far: by seeds, and by what was [stirred](Self::stir) in.
    #[must_use]
    pub const fn reseeds(&self) -> u64 {
        self.reseeds
    }

    /// Hashes `entropy` in, separately for each node, and credits nothing; a node that never got a seed stays as it
    /// is. For an order to reseed, and for a moment when there may be a copy of this node.
    pub fn stir(&mut self, number: usize, entropy: &[u8]) {
        if self.generator.is_seeded() {
            let mut hash = for_node(b"wellspring node stir", number);
            hash.update(entropy);
            self.replace_seed(&mut hash, 0);
            self.generator.reseed(self.seed.bytes());
            self.reseeds += 1;
            self.seed.clear();
        }
    }

    /// Initialises node `number` (not 0) from this one, node 0: through that node's mailbox, with the node's
    /// number hashed in, so that no two nodes ever run in lock-step.
    pub fn initialise(&mut self, backend: Backend, number: usize, inlet: &Inlet) {
        let mut reservation = Reservation::ZERO;
        self.reserve(backend, KEY_BYTES, &mut reservation);
        self.seed.clear();
        reservation.generate(backend, self.seed.next_place(0));
        reservation.clear();
        let mut hash = for_node(b"wellspring node first seed", number);
        hash.update(self.seed.bytes());
        let bits = self.credited_bits.min(8 * KEY_BYTES as u64) as u32;
        self.replace_seed(&mut hash, bits);
        // The mailbox is empty, unless the node was initialised a moment ago. Then the node keeps that seed, and this
        // one is dropped.
        let _ = inlet.post(&self.seed);
        self.seed.clear();
    }

    /// Sets output aside, as [`Generator::reserve`] does.
    #[inline]
    pub fn reserve(&mut self, backend: Backend, bytes: usize, reservation: &mut Reservation) {
        self.generator.reserve(backend, bytes, reservation);
    }

    /// The generator.
    pub fn generator(&mut self) -> &mut Generator {
        &mut self.generator
    }

    /// Forces the generator's state: for replaying known answers.
    pub fn force(&mut self, key: &[u8; KEY_BYTES], counter: u128) {
        self.generator.force(key, counter);
    }

    /// Puts the digest of `hash` in the place of the seed.
    #[inline(never)]
    fn replace_seed(&mut self, hash: &mut Sha256, credit_bits: u32) {
        self.seed.clear();
        let credit_bits = credit_bits.min(8 * DIGEST_BYTES as u32);
        finish_twice(hash, self.seed.next_place(credit_bits));
    }
}
