//! Uniform floats in [0, 1).

use wellspring_cipher::Work;

use super::arrays::{ElementError, Elements, STREAM_ROW, check_range};
use crate::blocks::MAX_BLOCK_BYTES;

/// The bytes that are made and then converted in place: a batch of ChaCha on AVX-512. They are converted while they are
/// still on their way to the first cache: with 16 KiB at a time uniform numbers took a fifth more.
const IN_PLACE_BYTES: usize = 1 << 10;

/// A number in [0, 1) from the upper 53 bits of a word, as NumPy's `Generator.random` does.
#[inline(always)]
pub(super) fn from_u64(word: u64) -> f64 {
    // AVX-512 DQ converts a register of integers by one instruction. For AVX2 and SSE2 the compiler puts both halves of the
    // integer into fractions, in about five.
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (word >> 11) as f64 * STEP
}

/// A number in [0, 1) from the upper 24 bits of a word, as NumPy's `Generator.random` does.
#[inline(always)]
pub(super) fn from_u32(word: u32) -> f32 {
    const STEP: f32 = 1.0 / (1u32 << 24) as f32;
    (word >> 8) as f32 * STEP
}

/// The floats of arrays: `f32` and `f64`.
pub trait Float: private::Sealed {}

impl Float for f32 {}
impl Float for f64 {}

pub(super) mod private {
    use super::{ElementError, Elements};

    /// Private, so that other crates cannot implement it.
    pub trait Sealed: Copy {
        /// Rounds to the nearest number of this type.
        fn from_f64(number: f64) -> Self;
        /// Whether this is the mark of an element that one word was not enough for.
        fn is_nan(self) -> bool;
        /// See [`Elements::uniform`].
        fn uniform(elements: &Elements, first: u64, out: &mut [Self]) -> Result<(), ElementError>;
    }
}

impl private::Sealed for f64 {
    #[inline(always)]
    fn from_f64(number: f64) -> Self {
        number
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    fn uniform(elements: &Elements, first: u64, out: &mut [Self]) -> Result<(), ElementError> {
        elements.fill_from_words(STREAM_ROW, first, out, |_, words, out| {
            let convert = |word| from_u64(u64::from_le_bytes(word));
            elements.width.run(Convert {
                words,
                out,
                convert,
            });
        })
    }
}

impl private::Sealed for f32 {
    #[inline(always)]
    fn from_f64(number: f64) -> Self {
        number as f32
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    fn uniform(elements: &Elements, first: u64, out: &mut [Self]) -> Result<(), ElementError> {
        elements.fill_from_words(STREAM_ROW, first, out, |_, words, out| {
            let convert = |word| from_u32(u32::from_le_bytes(word));
            elements.width.run(Convert {
                words,
                out,
                convert,
            });
        })
    }
}

/// Converts every word by itself, at the width of registers that it is compiled for.
pub(super) struct Convert<'a, const WORD_BYTES: usize, T, F> {
    pub(super) words: &'a [[u8; WORD_BYTES]],
    pub(super) out: &'a mut [T],
    pub(super) convert: F,
}

impl<const WORD_BYTES: usize, T, F> Work for Convert<'_, WORD_BYTES, T, F>
where
    F: Fn([u8; WORD_BYTES]) -> T,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (place, word) in self.out.iter_mut().zip(self.words) {
            *place = (self.convert)(*word);
        }
    }
}

/// Converts every word in place.
struct ConvertInPlace<'a, const BYTES: usize, F> {
    words: &'a mut [[u8; BYTES]],
    convert: F,
}

impl<const BYTES: usize, F> Work for ConvertInPlace<'_, BYTES, F>
where
    F: Fn([u8; BYTES]) -> [u8; BYTES],
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for word in self.words {
            *word = (self.convert)(*word);
        }
    }
}

impl Elements {
    /// [`uniform`](Self::uniform) for memory that is not known as floats: `f64` as their bytes in the order of the
    /// machine. The words go straight to their place, which saves a copy.
    ///
    /// # Errors
    ///
    /// [`ElementError::PastTheEnd`] if the last index is 2^64 or above.
    pub fn uniform_f64_bytes(&self, first: u64, out: &mut [[u8; 8]]) -> Result<(), ElementError> {
        self.in_place(first, out, |word| {
            from_u64(u64::from_le_bytes(word)).to_ne_bytes()
        })
    }

    /// The same for `f32`.
    ///
    /// # Errors
    ///
    /// [`ElementError::PastTheEnd`] if the last index is 2^64 or above.
    pub fn uniform_f32_bytes(&self, first: u64, out: &mut [[u8; 4]]) -> Result<(), ElementError> {
        self.in_place(first, out, |word| {
            from_u32(u32::from_le_bytes(word)).to_ne_bytes()
        })
    }

    fn in_place<const BYTES: usize>(
        &self,
        first: u64,
        out: &mut [[u8; BYTES]],
        convert: impl Fn([u8; BYTES]) -> [u8; BYTES] + Copy,
    ) -> Result<(), ElementError> {
        check_range(first, out.len())?;
        let mut position = u128::from(first) * BYTES as u128;
        let mut rest = out;
        while !rest.is_empty() {
            // A piece ends where a block does, so that no block is made twice.
            let skipped = (position % MAX_BLOCK_BYTES as u128) as usize;
            let count = rest.len().min((IN_PLACE_BYTES - skipped) / BYTES);
            let (words, after) = rest.split_at_mut(count);
            self.bytes(position, words.as_flattened_mut());
            self.width.run(ConvertInPlace { words, convert });
            position += (count * BYTES) as u128;
            rest = after;
        }
        Ok(())
    }

    /// Fills `out` with uniform numbers in [0, 1): 0 is possible, 1 is not.
    ///
    /// An `f64` is a multiple of 2^-53, made from bytes 8 i to 8 i + 7 of the
    /// [`Stream`](crate::Stream) of this name; an `f32` is a multiple of 2^-24, made from bytes 4 i to
    /// 4 i + 3. These are the numbers of NumPy's `Generator.random` over the same stream: for Philox,
    /// those of `Generator(Philox(SeedSequence(seed, spawn_key=path))).random(n)`.
    ///
    /// # Errors
    ///
    /// [`ElementError::PastTheEnd`] if the last index is 2^64 or above.
    pub fn uniform<T: Float>(&self, first: u64, out: &mut [T]) -> Result<(), ElementError> {
        T::uniform(self, first, out)
    }
}
