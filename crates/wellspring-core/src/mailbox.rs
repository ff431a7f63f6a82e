//! How a seed reaches a node without anyone waiting.
//!
//! The harvest side posts a seed and goes on; the node empties the mailbox at its own next key fetch, under
//! its own lock. A mailbox holds one seed. While it is full nothing more is posted: what the pools have
//! gathered stays in the pools, where it is safest, until someone reads.

use crate::pool::Seed;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use zeroize::Zeroize;

const EMPTY: u32 = 0;
const POSTING: u32 = 1;
const FULL: u32 = 2;

/// A place for one seed. All zeros is an empty mailbox.
#[derive(Debug)]
#[cfg_attr(not(loom), derive(bytemuck::Zeroable))]
#[repr(C)]
pub struct Mailbox<const WORDS: usize = { Seed::MAX_BYTES / 8 }> {
    state: AtomicU32,
    length_bytes: AtomicU32,
    credit_bits: AtomicU32,
    _reserved: AtomicU32,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Mailbox<WORDS> {
    /// An empty mailbox.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: AtomicU32::new(EMPTY),
            length_bytes: AtomicU32::new(0),
            credit_bits: AtomicU32::new(0),
            _reserved: AtomicU32::new(0),
            words: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Whether a post would go in now. Only the one who posts can rely on it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state.load(Ordering::Acquire) == EMPTY
    }

    /// Puts a seed in, unless one is there already. Says whether it went in.
    ///
    /// # Panics
    ///
    /// When the seed is longer than the mailbox.
    #[must_use]
    pub fn post(&self, seed: &Seed) -> bool {
        assert!(seed.bytes().len() <= 8 * WORDS, "the seed fits");
        let entered =
            self.state
                .compare_exchange(EMPTY, POSTING, Ordering::Acquire, Ordering::Relaxed);
        if entered.is_err() {
            return false;
        }
        for (word, bytes) in self.words.iter().zip(seed.bytes().chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(padded), Ordering::Relaxed);
            padded.zeroize();
        }
        let length_bytes = seed.bytes().len() as u32;
        self.length_bytes.store(length_bytes, Ordering::Relaxed);
        self.credit_bits
            .store(seed.credit_bits(), Ordering::Relaxed);
        self.state.store(FULL, Ordering::Release);
        true
    }

    /// Takes the seed out, if there is one, and erases its place. One caller at a time: who holds the node's
    /// lock.
    #[must_use]
    pub fn take(&self) -> Option<Seed> {
        if self.state.load(Ordering::Acquire) != FULL {
            return None;
        }
        let length = self.length_bytes.load(Ordering::Relaxed) as usize;
        let credit_bits = self.credit_bits.load(Ordering::Relaxed);
        let seed = Seed::written(length, credit_bits, |bytes| {
            for (word, bytes) in self.words.iter().zip(bytes.chunks_mut(8)) {
                bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes()[..bytes.len()]);
                word.store(0, Ordering::Relaxed);
            }
        });
        self.state.store(EMPTY, Ordering::Release);
        Some(seed)
    }
}

impl<const WORDS: usize> Default for Mailbox<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_seed_comes_out_whole_and_once() {
        for length in [0, 1, 8, 31, 32, 1024] {
            let mailbox = Mailbox::<128>::new();
            let bytes: [u8; 1024] = core::array::from_fn(|i| i as u8 ^ 0x5a);
            assert!(mailbox.take().is_none());
            assert!(mailbox.post(&Seed::new(&bytes[..length], 77)));
            let seed = mailbox.take().expect("was posted");
            assert_eq!((seed.bytes(), seed.credit_bits()), (&bytes[..length], 77));
            assert!(mailbox.take().is_none());
            let erased = |word: &AtomicU64| word.load(Ordering::Relaxed) == 0;
            assert!(mailbox.words.iter().all(erased), "the place is erased");
        }
    }

    #[test]
    fn a_full_mailbox_keeps_what_it_has() {
        let mailbox = Mailbox::<128>::new();
        assert!(mailbox.post(&Seed::new(b"first", 1)));
        assert!(!mailbox.post(&Seed::new(b"second", 2)));
        assert_eq!(mailbox.take().expect("was posted").bytes(), b"first");
        assert!(mailbox.post(&Seed::new(b"third", 3)));
    }
}
