//! A generator per NUMA node, and how seeds are shared out among them.
//!
//! Node 0 holds the root: every reseed reseeds it, exactly as Fortuna says. Until it has been credited
//! [`READY_BITS`] it is the only node there is. Then each other node is initialised from it, and from then on
//! every reseed also hands a seed to one other node: round robin, first to those whose credit is below
//! three quarters of [`CAPACITY_BITS`]. The rules are those of the per-node pools once proposed for Linux.
//!
//! One thing they would break here. Reseed number r uses pool i when 2^i divides r, so a node that is served
//! by every second reseed, say, and gets just that reseed's seed, would never see any pool but 0: an
//! attacker who follows pool 0 would own it for good. A node's seed is therefore taken from a *chain* over
//! all seeds so far, so that what recovers the root recovers every node within one round.

use crate::generator::{Generator, Reservation};
use crate::harvest::Event;
use crate::hash::{DIGEST_BYTES, sha_d256};
use crate::mailbox::Mailbox;
use crate::pool::{Accumulator, Seed};
use crate::sync::{AtomicU32, Ordering};
use wellspring_cipher::{Backend, KEY_BYTES};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The credit, in bits, that node 0 must have received before any other node exists.
pub const READY_BITS: u64 = 128;

/// The credit of a full node in bits: the capacity of Linux's nonblocking pool.
pub const CAPACITY_BITS: u32 = 1024;

/// Below this credit a node is served before others: 75 % of its capacity.
const HUNGRY_BITS: u32 = CAPACITY_BITS / 4 * 3;

/// What the harvest side sees of a node: where its seeds go and how much it still has of what they
/// brought.
///
/// The credit decides whose turn it is, and nothing else: Fortuna needs no count of what was read. All zeros
/// is the inlet of a node that never got anything.
#[derive(Debug, Default)]
#[cfg_attr(not(loom), derive(bytemuck::Zeroable))]
#[repr(C)]
pub struct Inlet {
    mailbox: Mailbox,
    credit_bits: AtomicU32,
    _reserved: AtomicU32,
}

impl Inlet {
    /// The credit left, in bits, at most [`CAPACITY_BITS`].
    #[must_use]
    pub fn credit_bits(&self) -> u32 {
        self.credit_bits.load(Ordering::Relaxed)
    }

    /// Whether the node has taken what was posted last.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mailbox.is_empty()
    }

    /// Counts `bytes` that a reader drew from the node.
    pub fn spend(&self, bytes: usize) {
        let bits = u32::try_from(bytes.saturating_mul(8)).unwrap_or(u32::MAX);
        self.update(|credit| credit.saturating_sub(bits));
    }

    /// Posts a seed and counts its credit. Says whether there was room, as [`Mailbox::post`] does.
    #[must_use]
    pub fn post(&self, seed: &Seed) -> bool {
        let posted = self.mailbox.post(seed);
        if posted {
            let bits = seed.credit_bits();
            self.update(|credit| credit.saturating_add(bits).min(CAPACITY_BITS));
        }
        posted
    }

    fn update(&self, change: impl Fn(u32) -> u32) {
        let relaxed = Ordering::Relaxed;
        let _ = self
            .credit_bits
            .fetch_update(relaxed, relaxed, |credit| Some(change(credit)));
    }
}

/// A node's generator. The lock it lives behind belongs to whoever owns the memory.
#[derive(Default)]
pub struct Node {
    generator: Generator,
    credited_bits: u64,
    reseeds: u64,
}

impl Node {
    /// Empties the mailbox into the generator. To be called first by whoever takes the lock to read.
    pub fn receive(&mut self, inlet: &Inlet) {
        if let Some(seed) = inlet.mailbox.take() {
            self.generator.reseed(seed.bytes());
            self.credited_bits += u64::from(seed.credit_bits());
            self.reseeds += 1;
        }
    }

    /// Whether anyone may read: a seed came, and it was not all of unknown origin.
    #[must_use]
    pub const fn is_seeded(&self) -> bool {
        self.generator.is_seeded() && self.credited_bits > 0
    }

    /// Whether node 0 has received enough for other nodes to exist.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.credited_bits >= READY_BITS
    }

    /// Hashes `noise` in, separately for each node, and credits nothing; a node that was never seeded stays so. For a
    /// moment when there may be a copy of this node.
    pub fn stir(&mut self, number: usize, noise: &[u8]) {
        if self.generator.is_seeded() {
            let seed = separated(b"wellspring node stir", number, noise, 0);
            self.generator.reseed(seed.bytes());
        }
    }

    /// The seeds received so far.
    #[must_use]
    pub const fn reseeds(&self) -> u64 {
        self.reseeds
    }

    /// Forces the generator's state: for replaying known answers.
    pub fn force(&mut self, key: [u8; KEY_BYTES], counter: u128) {
        self.generator = Generator::from_state(key, counter);
    }

    /// The generator.
    pub fn generator(&mut self) -> &mut Generator {
        &mut self.generator
    }

    /// Sets output aside, as [`Generator::claim`] does.
    pub fn reserve(&mut self, backend: Backend, bytes: usize, reservation: &mut Reservation) {
        self.generator.reserve(backend, bytes, reservation);
    }

    /// Initialises node `number` (not 0) from this one, node 0: through the node's mailbox, with the node's
    /// number hashed in, so that no two nodes ever run in lock-step.
    pub fn initialise(&mut self, backend: Backend, number: usize, inlet: &Inlet) {
        let mut drawn = [0; KEY_BYTES];
        let mut reservation = Reservation::default();
        self.reserve(backend, drawn.len(), &mut reservation);
        reservation.generate(backend, &mut drawn);
        let bits = self.credited_bits.min(8 * KEY_BYTES as u64) as u32;
        let seed = separated(b"wellspring node first seed", number, &drawn, bits);
        drawn.zeroize();
        // The mailbox of a node that does not exist yet is empty, unless someone initialised it a moment
        // ago: then that seed stands.
        let _ = inlet.post(&seed);
    }
}

/// A seed for node `number` alone.
fn separated(domain: &[u8], number: usize, secret: &[u8], credit_bits: u32) -> Seed {
    let number = (number as u64).to_le_bytes();
    let mut digest = sha_d256(&[domain, &number, secret]);
    let seed = Seed::new(&digest, credit_bits.min(8 * DIGEST_BYTES as u32));
    digest.zeroize();
    seed
}

/// The harvest side: events into the pools, seeds out to the nodes. One owner at a time.
#[derive(Default)]
pub struct Harvest {
    accumulator: Accumulator,
    distribution: Distribution,
}

/// When a reseed may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Not within 100 ms of the last: Fortuna's rule.
    Fortuna,
    /// Now, because an operator says so.
    Ordered,
}

impl Harvest {
    /// Adds an event to its pool.
    pub fn absorb(&mut self, event: &Event) {
        self.accumulator.absorb(event);
    }

    /// The pools.
    #[must_use]
    pub const fn accumulator(&self) -> &Accumulator {
        &self.accumulator
    }

    /// Reseeds, if a reseed is due at `now_ms` and node 0 has taken the seed before: posts the seed to
    /// node 0 and one derived from the chain to another node of `inlets`.
    ///
    /// `nodes` says how many nodes exist for readers (1 before the engine is ready). Says whether a seed was
    /// posted; the caller then bumps the generation.
    pub fn deliver<'a>(
        &mut self,
        now_ms: u64,
        pace: Pace,
        nodes: usize,
        inlet: impl Fn(usize) -> &'a Inlet,
    ) -> bool {
        let root = inlet(0);
        if !root.mailbox.is_empty() {
            return false;
        }
        let seed = match pace {
            Pace::Fortuna => self.accumulator.take_seed(now_ms),
            Pace::Ordered => self.accumulator.take_seed_unpaced(now_ms),
        };
        let Some(seed) = seed else { return false };
        let posted = root.post(&seed);
        debug_assert!(
            posted,
            "the owner of the pools is the only one who posts to node 0"
        );
        self.distribution.absorb(&seed);
        if nodes > 1 {
            self.distribution.hand_out(seed.credit_bits(), nodes, inlet);
        }
        posted
    }
}

/// Whose turn it is, and the chain that nodes other than 0 are seeded from.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
struct Distribution {
    chain: [u8; DIGEST_BYTES],
    last_node: usize,
}

impl Distribution {
    /// Hashes a seed into the chain. One way: the chain tells nothing of what it was before.
    fn absorb(&mut self, seed: &Seed) {
        self.chain = sha_d256(&[b"wellspring seed chain", &self.chain, seed.bytes()]);
    }

    fn hand_out<'a>(&mut self, credit_bits: u32, nodes: usize, inlet: impl Fn(usize) -> &'a Inlet) {
        if let Some(number) = self.choose(nodes, |number| {
            let inlet = inlet(number);
            inlet.mailbox.is_empty().then(|| inlet.credit_bits())
        }) {
            self.last_node = number;
            let seed = separated(b"wellspring node seed", number, &self.chain, credit_bits);
            let _ = inlet(number).post(&seed);
        }
    }

    /// The next node after the last one served whose credit is below 75 %; the next at all if none is. A
    /// node whose mailbox is full (`None`) has not used what it was given, and is passed over.
    fn choose(&self, nodes: usize, credit_bits: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let others = nodes - 1;
        let in_turn = || (0..others).map(|step| 1 + (self.last_node + step) % others);
        in_turn()
            .find(|&number| credit_bits(number).is_some_and(|credit| credit < HUNGRY_BITS))
            .or_else(|| in_turn().find(|&number| credit_bits(number).is_some()))
    }
}
