//! From a seed and a path to the words of a key or a state.

use crate::{Algorithm, SeedSequence, WideSeedSequence};

/// A seed and a path, mixed into the pool that an algorithm asks for.
///
/// AES-256 and ChaCha take keys of 256 bits, so that their pool has 256 bits as well. The others have
/// NumPy's default pool of 128 bits: the key of Philox has 128 bits, and the streams of the engines
/// were fixed with that pool.
#[derive(Clone)]
pub(crate) enum MixedSeed {
    Bits128(SeedSequence),
    Bits256(WideSeedSequence),
}

impl MixedSeed {
    pub(crate) fn new(algorithm: Algorithm, seed: u128, path: &[u32]) -> Self {
        let root = if has_wide_key(algorithm) {
            Self::Bits256(WideSeedSequence::new(seed))
        } else {
            Self::Bits128(SeedSequence::new(seed))
        };
        path.iter().fold(root, |parent, &key| parent.child(key))
    }

    /// The name that has these words as its entropy.
    pub(crate) fn from_words(algorithm: Algorithm, words: [u64; 4]) -> Self {
        let mut halves = [0; 8];
        for (pair, word) in halves.as_chunks_mut().0.iter_mut().zip(words) {
            *pair = [word as u32, (word >> 32) as u32];
        }
        if has_wide_key(algorithm) {
            Self::Bits256(WideSeedSequence::from_words(&halves))
        } else {
            Self::Bits128(SeedSequence::from_words(&halves))
        }
    }

    pub(crate) fn child(&self, key: u32) -> Self {
        match self {
            Self::Bits128(sequence) => Self::Bits128(sequence.child(key)),
            Self::Bits256(sequence) => Self::Bits256(sequence.child(key)),
        }
    }

    /// NumPy's `generate_state(4, np.uint64)`; an algorithm that needs two words takes the first two.
    pub(crate) fn words(&self) -> [u64; 4] {
        match self {
            Self::Bits128(sequence) => sequence.generate_u64(),
            Self::Bits256(sequence) => sequence.generate_u64(),
        }
    }
}

const fn has_wide_key(algorithm: Algorithm) -> bool {
    matches!(
        algorithm,
        Algorithm::ChaCha8 | Algorithm::ChaCha12 | Algorithm::ChaCha20 | Algorithm::Aes256Ctr
    )
}
