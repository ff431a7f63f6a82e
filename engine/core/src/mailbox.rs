//! Hands a seed to a node without waiting for the node's lock.
//!
//! The owner of the pools posts a seed and goes on; the node empties the mailbox at its own next key fetch, under
//! its own lock. A mailbox holds one seed. While it is full nothing more is posted: the pools keep the noise until the
//! node takes the seed.

use crate::seed::Seed;
use crate::sync::{AtomicU32, AtomicUsize, Ordering, WORD_BYTES};
use core::fmt;

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
}
