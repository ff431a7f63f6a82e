//! The functions of a counter behind one face: a key, a row and a number name a block.

use wellspring_cipher::{SeekableFunction, SeekableKeystream, Uniform};

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
    Cipher(SeekableKeystream),
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
        let cipher = match algorithm {
            Algorithm::Philox4x64 => None,
            Algorithm::ChaCha8 => Some(SeekableFunction::ChaCha8),
            Algorithm::ChaCha12 => Some(SeekableFunction::ChaCha12),
            Algorithm::ChaCha20 => Some(SeekableFunction::ChaCha20),
            Algorithm::Aes256Ctr => Some(SeekableFunction::Aes256),
            Algorithm::Xoshiro256PlusPlus
            | Algorithm::Xoshiro256PlusPlusX16
            | Algorithm::Xorshift128Plus => return None,
        };
        let function = match cipher {
            None => Function::Philox4x64([words[0], words[1]]),
            Some(function) => {
                let mut key = [0; 32];
                for (bytes, word) in key.as_chunks_mut().0.iter_mut().zip(words) {
                    *bytes = word.to_le_bytes();
                }
                Function::Cipher(SeekableKeystream::new(function, &key))
            }
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
            Function::Cipher(keystream) => keystream.function().block_bytes(),
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
            Function::Cipher(keystream) => {
                let row = u128::from(row) << 64;
                keystream.fill(first.wrapping_add(row), destination);
            }
        }
    }

    /// Overwrites the start of `numbers` with uniform floats from the words of the blocks from number `first` on, where that
    /// is faster than to convert them; returns how many these are.
    pub(crate) fn fill_uniform<T: Uniform>(
        &self,
        row: u64,
        first: u128,
        numbers: &mut [T],
    ) -> usize {
        match &self.function {
            Function::Philox4x64(_) => 0,
            Function::Cipher(keystream) => {
                let row = u128::from(row) << 64;
                keystream.fill_uniform(first.wrapping_add(row), numbers)
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
