//! Keystreams that are read at any block number, for numbers that are not secret.

use crate::{Backend, KEY_BYTES, Keystream, Prf};
use core::{fmt, slice};

/// A function from a 256-bit key and a 128-bit block number to a block.
///
/// The block number enters as 16 little-endian bytes, as in [`Prf`]. ChaCha with 8 or 12 rounds is for
/// statistical use: no attack on 8 rounds is known in practice, but its margin is too small for keys.
/// So these functions are not a [`Prf`], from which secrets are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SeekableFunction {
    /// AES-256 (FIPS 197) of the block number: 16-byte blocks.
    Aes256,
    /// ChaCha with 8 rounds: 64-byte blocks, the block number in words 12 to 15.
    ChaCha8,
    /// ChaCha with 12 rounds.
    ChaCha12,
    /// ChaCha with 20 rounds (the block function of RFC 8439).
    ChaCha20,
}

impl SeekableFunction {
    /// Every function.
    pub const ALL: [SeekableFunction; 4] =
        [Self::Aes256, Self::ChaCha8, Self::ChaCha12, Self::ChaCha20];

    /// The length of a block in bytes: 16 or 64.
    #[must_use]
    pub const fn block_bytes(self) -> usize {
        self.prf().block_bytes()
    }

    /// The function whose backends are used: the three kinds of ChaCha differ in the number of rounds only.
    #[must_use]
    pub const fn prf(self) -> Prf {
        match self {
            Self::Aes256 => Prf::Aes256,
            Self::ChaCha8 | Self::ChaCha12 | Self::ChaCha20 => Prf::ChaCha20,
        }
    }

    /// The rounds of ChaCha. AES-256 takes no notice of them.
    const fn rounds(self) -> usize {
        match self {
            Self::ChaCha8 => 8,
            Self::ChaCha12 => 12,
            Self::Aes256 | Self::ChaCha20 => 20,
        }
    }
}

/// The keystream of one key, read at any block number through a shared reference.
///
/// ```
/// use wellspring_cipher::{SeekableFunction, SeekableKeystream};
///
/// let keystream = SeekableKeystream::new(SeekableFunction::ChaCha8, &[7; 32]);
/// let mut whole = [0; 128];
/// keystream.fill(1000, &mut whole);
/// let mut second_block = [0; 64];
/// keystream.fill(1001, &mut second_block);
/// assert_eq!(whole[64..], second_block);
/// ```
pub struct SeekableKeystream {
    function: SeekableFunction,
    keystream: Keystream,
}

impl SeekableKeystream {
    /// Sets up `key` for the best implementation that this CPU runs.
    #[must_use]
    pub fn new(function: SeekableFunction, key: &[u8; KEY_BYTES]) -> Self {
        Self::with_backend(function, Backend::detect(function.prf()), key)
    }

    /// Sets up `key` for a given implementation, whose bytes are the same: for tests and benchmarks.
    ///
    /// # Panics
    ///
    /// When `backend` implements another function, or this CPU does not run it.
    #[must_use]
    pub fn with_backend(
        function: SeekableFunction,
        backend: Backend,
        key: &[u8; KEY_BYTES],
    ) -> Self {
        assert!(
            backend.prf() == function.prf(),
            "the backend implements another function"
        );
        Self {
            function,
            keystream: Keystream::new(backend, key, 0),
        }
    }

    /// Overwrites `destination` with the blocks from number `first_block` on, the last of them in
    /// part. Block 0 follows block 2^128 - 1.
    pub fn fill(&self, first_block: u128, destination: &mut [u8]) {
        let rounds = self.function.rounds();
        self.keystream.fill_from(rounds, first_block, destination);
    }

    /// Overwrites the start of `numbers` with uniform floats in [0, 1), made of the words of the blocks from `first_block` on,
    /// and returns how many these are. The caller makes the others from bytes of [`fill`](Self::fill).
    ///
    /// Number i is made of word i, which has the bits of the float: it is the upper 53 of 64 bits times 2^-53, or the
    /// upper 24 of 32 bits times 2^-24. ChaCha on AVX-512 makes whole batches of 16 blocks, as it stores them. Elsewhere this
    /// would save nothing, and the answer is 0.
    pub fn fill_uniform<T: Uniform>(&self, first_block: u128, numbers: &mut [T]) -> usize {
        // Not where the low 32 bits of the block number could wrap.
        let blocks = size_of_val(numbers).div_ceil(self.function.block_bytes());
        if u64::from(first_block as u32) + blocks as u64 > 1 << 32 {
            return 0;
        }
        let (start, bytes) = (numbers.as_mut_ptr(), size_of_val(numbers));
        // SAFETY: the same memory, which is not used by another name until this slice is gone. Bytes ask for no alignment,
        // and `T` is one of two floats, of which any bits are a value.
        let destination = unsafe { slice::from_raw_parts_mut(start.cast(), bytes) };
        let rounds = self.function.rounds();
        let filled =
            self.keystream
                .fill_floats_from(size_of::<T>(), rounds, first_block, destination);
        filled / size_of::<T>()
    }

    /// The function that makes the blocks.
    #[must_use]
    pub const fn function(&self) -> SeekableFunction {
        self.function
    }
}

impl fmt::Debug for SeekableKeystream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeekableKeystream")
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

/// The floats that [`SeekableKeystream::fill_uniform`] makes: `f32` and `f64`.
pub trait Uniform: private::Sealed {}

impl Uniform for f32 {}
impl Uniform for f64 {}

mod private {
    /// Private, so that other crates cannot implement it.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
