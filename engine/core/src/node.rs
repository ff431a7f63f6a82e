//! A generator for each NUMA node, and the way of a seed to it.
//!
//! ```text
//! Node       the generator of a node, behind the lock of its owner
//! Inlet      the part of a node that the owner of the pools uses: a mailbox, and the credit that is left
//! Mailbox    hands a seed to a node without waiting for the node's lock
//! Seed       a buffer for the material of one reseed, which is never copied
//! ```
//!
//! Node 0 holds the root: every reseed reseeds it, exactly as Fortuna says. Until one seed has brought it
//! [`READY_BITS`] of credit it is the only node with a seed. Then each other node is initialised from it.
//! [`distribution`](crate::distribution) says which node gets which seed after that.
//!
//! The owner of the pools posts a seed and goes on; the node empties the mailbox at its own next key fetch, under
//! its own lock. A mailbox holds one seed. While it is full nothing more is posted: the pools keep the noise until the
//! node takes the seed.

use crate::generator::{DIGEST_BYTES, Generator, Reservation, Sha256, finish_twice, for_node};
use crate::sync::{AtomicU32, AtomicUsize, Ordering, WORD_BYTES};
use core::fmt;
use wellspring_cipher::{Backend, KEY_BYTES};
use zeroize::{Zeroize, ZeroizeOnDrop};

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

    /// How often it was reseeded so far: by seeds, and by entropy that was [stirred](Self::stir) in.
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

/// The credit of a full node in bits: the capacity of Linux's nonblocking pool.
pub const CAPACITY_BITS: u32 = 1024;

/// A node's mailbox and the credit that is left of what went through it.
///
/// The credit decides which node is served next, and nothing else: Fortuna does not count its output. All zeros
/// is the inlet of a node that never got a seed.
#[derive(Debug)]
#[repr(C)]
pub struct Inlet {
    mailbox: Mailbox,
    credit_bits: AtomicU32,
    _reserved: AtomicU32,
}

impl Inlet {
    /// The value of zeroed memory: an empty mailbox and no credit.
    #[cfg(not(loom))]
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "a value to begin with: each use is a new inlet"
    )]
    pub const ZERO: Self = Self {
        mailbox: Mailbox::ZERO,
        credit_bits: AtomicU32::new(0),
        _reserved: AtomicU32::new(0),
    };

    /// The credit left, in bits, at most [`CAPACITY_BITS`].
    #[must_use]
    #[inline]
    pub fn credit_bits(&self) -> u32 {
        self.credit_bits.load(Ordering::Relaxed)
    }

    /// Whether the node has taken the last posted seed.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.mailbox.is_empty()
    }

    /// Counts `bytes` that a reader drew from the node.
    #[inline]
    pub fn spend(&self, bytes: usize) {
        let bits = u32::try_from(bytes.saturating_mul(8)).unwrap_or(u32::MAX);
        self.update(|credit| credit.saturating_sub(bits));
    }

    /// Posts a copy of a seed and counts its credit. Returns whether there was room, like [`Mailbox::post`].
    #[must_use]
    #[inline(never)]
    pub fn post(&self, seed: &Seed) -> bool {
        let posted = self.mailbox.post(seed);
        if posted {
            let bits = seed.credit_bits();
            self.update(|credit| credit.saturating_add(bits).min(CAPACITY_BITS));
        }
        posted
    }

    /// Moves the posted seed to `seed`, like [`Mailbox::take_into`].
    #[must_use]
    pub(crate) fn take_into(&self, seed: &mut Seed) -> bool {
        self.mailbox.take_into(seed)
    }

    fn update(&self, change: impl Fn(u32) -> u32) {
        let relaxed = Ordering::Relaxed;
        let _ = self
            .credit_bits
            .fetch_update(relaxed, relaxed, |credit| Some(change(credit)));
    }
}

const EMPTY: u32 = 0;
const POSTING: u32 = 1;
const FULL: u32 = 2;

/// A place for one seed. All zeros is an empty mailbox.
#[repr(C)]
pub struct Mailbox<const WORDS: usize = { Seed::MAX_BYTES / WORD_BYTES }> {
    state: AtomicU32,
    length_bytes: AtomicU32,
    credit_bits: AtomicU32,
    _reserved: AtomicU32,
    words: [AtomicUsize; WORDS],
}

impl<const WORDS: usize> Mailbox<WORDS> {
    /// The value of zeroed memory: an empty mailbox.
    #[cfg(not(loom))]
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "a value to begin with: each use is a new mailbox"
    )]
    pub const ZERO: Self = Self {
        state: AtomicU32::new(EMPTY),
        length_bytes: AtomicU32::new(0),
        credit_bits: AtomicU32::new(0),
        _reserved: AtomicU32::new(0),
        words: [const { AtomicUsize::new(0) }; WORDS],
    };

    /// An empty mailbox: loom's atomics cannot be constants.
    #[cfg(loom)]
    #[must_use]
    pub fn zero() -> Self {
        Self {
            state: AtomicU32::new(EMPTY),
            length_bytes: AtomicU32::new(0),
            credit_bits: AtomicU32::new(0),
            _reserved: AtomicU32::new(0),
            words: core::array::from_fn(|_| AtomicUsize::new(0)),
        }
    }

    /// Whether a post would succeed now. `true` stays true only for the thread that posts.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.state.load(Ordering::Acquire) == EMPTY
    }

    /// Copies a seed in, unless the mailbox holds one already. Returns whether it was copied.
    ///
    /// A word at a time, so that the stack holds one word of it at most.
    ///
    /// # Panics
    ///
    /// When the seed is longer than the mailbox.
    #[must_use]
    pub fn post(&self, seed: &Seed) -> bool {
        assert!(
            seed.bytes().len() <= WORD_BYTES * WORDS,
            "the seed is longer than the mailbox"
        );
        let entered =
            self.state
                .compare_exchange(EMPTY, POSTING, Ordering::Acquire, Ordering::Relaxed);
        if entered.is_err() {
            return false;
        }
        for (place, word) in self.words.iter().zip(seed.words()) {
            place.store(usize::from_ne_bytes(*word), Ordering::Relaxed);
        }
        let length_bytes = seed.bytes().len() as u32;
        self.length_bytes.store(length_bytes, Ordering::Relaxed);
        self.credit_bits
            .store(seed.credit_bits(), Ordering::Relaxed);
        self.state.store(FULL, Ordering::Release);
        true
    }

    /// Moves the seed to `seed`, if there is one, and erases it here. Returns whether there was one; if not, `seed`
    /// is unchanged. One caller at a time: the thread that holds the node's lock.
    #[must_use]
    pub fn take_into(&self, seed: &mut Seed) -> bool {
        if self.state.load(Ordering::Acquire) != FULL {
            return false;
        }
        let length = self.length_bytes.load(Ordering::Relaxed) as usize;
        let credit_bits = self.credit_bits.load(Ordering::Relaxed);
        for (place, word) in self.words.iter().zip(seed.replace(length, credit_bits)) {
            *word = place.load(Ordering::Relaxed).to_ne_bytes();
            place.store(0, Ordering::Relaxed);
        }
        self.state.store(EMPTY, Ordering::Release);
        true
    }
}

impl<const WORDS: usize> fmt::Debug for Mailbox<WORDS> {
    /// Shows no seed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox")
            .field("is_empty", &self.is_empty())
            .finish_non_exhaustive()
    }
}

/// The credit, in bits, that one seed must have brought to node 0 before other nodes serve readers. Credits of several
/// seeds are not added: an attacker who reads between two small ones can guess each alone.
pub const READY_BITS: u32 = 128;

/// Up to 1024 bytes of seed and their credit: 32 bytes for each pool that a reseed uses.
///
/// It is written, hashed and wiped in place, since a value that moves leaves copies on the stack from which past
/// output can be computed. So nothing returns a seed, and it cannot be cloned. It is wiped by [`clear`](Self::clear)
/// and on drop.
#[repr(C)]
pub struct Seed {
    /// Zeros from `length_bytes` on.
    bytes: [u8; Self::MAX_BYTES],
    length_bytes: u32,
    credit_bits: u32,
}

impl Seed {
    /// The longest seed in bytes: 32 digests of 32 bytes.
    pub const MAX_BYTES: usize = 1024;

    /// The value of zeroed memory: an empty seed.
    pub const ZERO: Self = Self {
        bytes: [0; Self::MAX_BYTES],
        length_bytes: 0,
        credit_bits: 0,
    };

    /// Replaces the seed by up to [`MAX_BYTES`](Self::MAX_BYTES) bytes; the rest is cut.
    pub fn set(&mut self, bytes: &[u8], credit_bits: u32) {
        self.clear();
        self.append(bytes, credit_bits);
    }

    /// Adds bytes and their credit, as many as there is room for.
    pub fn append(&mut self, bytes: &[u8], credit_bits: u32) {
        let length = bytes.len().min(Self::MAX_BYTES - self.length());
        let place = self.extend(length, credit_bits);
        place.copy_from_slice(&bytes[..length]);
    }

    /// Adds 32 bytes, zeros so far, and their credit. Returns the place to write them to.
    ///
    /// # Panics
    ///
    /// When fewer than 32 bytes are free.
    pub fn next_place(&mut self, credit_bits: u32) -> &mut [u8; 32] {
        let place = self.extend(32, credit_bits);
        place.first_chunk_mut().expect("32 bytes")
    }

    /// The material.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length()]
    }

    /// The min-entropy that it is credited, in bits.
    #[must_use]
    pub const fn credit_bits(&self) -> u32 {
        self.credit_bits
    }

    /// Wipes the seed: it is empty then.
    ///
    /// Writes only the bytes that it has, usually 32 or 64: a node's lock is held meanwhile.
    #[inline(never)]
    pub fn clear(&mut self) {
        let length = self.length();
        self.bytes[..length].zeroize();
        self.length_bytes.zeroize();
        self.credit_bits.zeroize();
    }

    /// The material in whole words, padded with zeros.
    pub(crate) fn words(&self) -> &[[u8; WORD_BYTES]] {
        let padded = self.length().next_multiple_of(WORD_BYTES);
        self.bytes[..padded].as_chunks().0
    }

    /// Wipes the seed and makes room for another, whose words, padded with zeros, go to the place returned.
    pub(crate) fn replace(
        &mut self,
        length_bytes: usize,
        credit_bits: u32,
    ) -> &mut [[u8; WORD_BYTES]] {
        self.clear();
        let length = length_bytes.min(Self::MAX_BYTES);
        self.extend(length, credit_bits);
        self.bytes[..length.next_multiple_of(WORD_BYTES)]
            .as_chunks_mut()
            .0
    }

    const fn length(&self) -> usize {
        self.length_bytes as usize
    }

    #[inline(never)]
    fn extend(&mut self, bytes: usize, credit_bits: u32) -> &mut [u8] {
        let start = self.length();
        self.length_bytes += bytes as u32;
        self.credit_bits = self.credit_bits.saturating_add(credit_bits);
        &mut self.bytes[start..start + bytes]
    }
}

impl Zeroize for Seed {
    fn zeroize(&mut self) {
        self.clear();
    }
}

impl Drop for Seed {
    #[inline]
    fn drop(&mut self) {
        self.clear();
    }
}

impl ZeroizeOnDrop for Seed {}

impl fmt::Debug for Seed {
    /// Shows no material.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seed")
            .field("length_bytes", &self.length_bytes)
            .field("credit_bits", &self.credit_bits)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn seed(bytes: &[u8], credit_bits: u32) -> Seed {
        let mut seed = Seed::ZERO;
        seed.set(bytes, credit_bits);
        seed
    }

    #[test]
    fn a_seed_comes_out_whole_and_once() {
        for length in [0, 1, 8, 31, 32, 1024] {
            let mailbox = Mailbox::<{ 1024 / WORD_BYTES }>::ZERO;
            let bytes: [u8; 1024] = core::array::from_fn(|i| i as u8 ^ 0x5a);
            // Nothing of the old content may remain.
            let mut taken = seed(&[0xff; 1024], 3);
            assert!(!mailbox.take_into(&mut taken));
            assert_eq!((taken.bytes(), taken.credit_bits()), (&[0xff; 1024][..], 3));
            assert!(mailbox.post(&seed(&bytes[..length], 77)));
            assert!(mailbox.take_into(&mut taken));
            assert_eq!((taken.bytes(), taken.credit_bits()), (&bytes[..length], 77));
            assert!(!mailbox.take_into(&mut taken));
            let is_erased = |word: &AtomicUsize| word.load(Ordering::Relaxed) == 0;
            assert!(mailbox.words.iter().all(is_erased), "the place is erased");
        }
    }

    #[test]
    fn a_full_mailbox_keeps_what_it_has() {
        let mailbox = Mailbox::<{ 1024 / WORD_BYTES }>::ZERO;
        let mut taken = Seed::ZERO;
        assert!(mailbox.post(&seed(b"first", 1)));
        assert!(!mailbox.post(&seed(b"second", 2)));
        assert!(mailbox.take_into(&mut taken));
        assert_eq!(taken.bytes(), b"first");
        assert!(mailbox.post(&seed(b"third", 3)));
    }

    #[test]
    fn what_is_longer_than_a_seed_is_cut_and_what_is_cleared_is_gone() {
        let mut seed = Seed::ZERO;
        seed.set(&[1; 1000], 10);
        seed.append(&[2; 1000], 5);
        assert_eq!(seed.bytes().len(), 1024);
        assert_eq!(seed.bytes()[1000..], [2; 24]);
        assert_eq!(seed.credit_bits(), 15);
        seed.clear();
        assert_eq!((seed.bytes(), seed.credit_bits()), (&[][..], 0));
        assert_eq!(seed.bytes, [0; 1024]);
    }

    #[test]
    fn a_digest_is_written_in_its_place() {
        let mut seed = Seed::ZERO;
        seed.append(b"x", 1);
        *seed.next_place(2) = [9; 32];
        assert_eq!(seed.bytes()[1..], [9; 32]);
        assert_eq!(seed.credit_bits(), 3);
    }
}
