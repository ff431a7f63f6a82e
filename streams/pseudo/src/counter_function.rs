//! The functions of a counter behind one face: a key, a row and a number name a block.

use wellspring_cipher::{Backend, Keystream, Prf};

use crate::{Algorithm, philox};

/// The blocks of one key.
///
/// Their counter has two parts, a *row* and a number within the row. Rows below
/// [`FIRST_ELEMENT_ROW`] are the jumps of streams: jump j of a stream is row j. The rows from there on
/// belong to arrays of elements, so that no element ever reads a byte of a stream, uniform floats
/// excepted, which are the stream.
pub(crate) struct CounterFunction {
    algorithm: Algorithm,
    words: [u64; 4],
    function: Function,
}

#[allow(
    clippy::large_enum_variant,
    reason = "there is no heap to put the keys of AES on"
)]
enum Function {
    Philox4x64([u64; 2]),
    /// ChaCha with 8 or 12 rounds is for statistical use: no attack on 8 rounds is known in practice, but its margin is too
    /// small for keys. So both are here, and not a [`Prf`], from which secrets are made.
    Cipher {
        keystream: Keystream,
        prf: Prf,
        rounds: usize,
    },
}

/// The first row that no jump of a stream reaches.
pub(crate) const FIRST_ELEMENT_ROW: u64 = 1 << 63;

/// The longest block, of ChaCha.
pub(crate) const MAX_BLOCK_BYTES: usize = 64;

impl CounterFunction {
    /// The blocks under the key of these words; `None` where the algorithm is an engine.
    ///
    /// Philox takes the first two words, as NumPy does. The others take all four as 32 little-endian
    /// bytes.
    pub(crate) fn new(algorithm: Algorithm, words: [u64; 4]) -> Option<Self> {
        let (prf, rounds) = match algorithm {
            Algorithm::Philox4x64 => {
                let function = Function::Philox4x64([words[0], words[1]]);
                return Some(Self {
                    algorithm,
                    words,
                    function,
                });
            }
            Algorithm::ChaCha8 => (Prf::ChaCha20, 8),
            Algorithm::ChaCha12 => (Prf::ChaCha20, 12),
            Algorithm::ChaCha20 => (Prf::ChaCha20, 20),
            // It takes no notice of the rounds of ChaCha.
            Algorithm::Aes256Ctr => (Prf::Aes256, 20),
            Algorithm::Xoshiro256PlusPlus
            | Algorithm::Xoshiro256PlusPlusX16
            | Algorithm::Xorshift128Plus => return None,
        };
        let mut key = [0; 32];
        for (bytes, word) in key.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        let function = Function::Cipher {
            keystream: Keystream::new(Backend::detect(prf), &key, 0),
            prf,
            rounds,
        };
        Some(Self {
            algorithm,
            words,
            function,
        })
    }

    /// The length of a block in bytes: 16, 32 or 64.
    #[inline]
    pub(crate) fn block_bytes(&self) -> usize {
        match &self.function {
            Function::Philox4x64(_) => philox::BLOCK_BYTES,
            Function::Cipher { prf, .. } => prf.block_bytes(),
        }
    }

    /// Overwrites `destination` with the blocks of a row from number `first` on, the last of them in
    /// part. At most 2^124 blocks lie before the last one.
    pub(crate) fn fill(&self, row: u64, first: u128, destination: &mut [u8]) {
        match &self.function {
            // NumPy increments the counter before each block, the first one included.
            Function::Philox4x64(key) => {
                philox::fill(*key, [first + 1, row.into()], destination);
            }
            Function::Cipher {
                keystream, rounds, ..
            } => {
                let row = u128::from(row) << 64;
                keystream.fill_at(*rounds, first.wrapping_add(row), destination);
            }
        }
    }

    pub(crate) const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Clone for CounterFunction {
    fn clone(&self) -> Self {
        Self::new(self.algorithm, self.words).expect("the algorithm of these blocks has blocks")
    }
}
