//! Uniform floats in [0, 1).

use wellspring_cipher::SimdTask;

use super::arrays::{ElementError, Elements, Kind, STREAM_ROW, from_u64};

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
    use core::ops::{Add, Mul};

    use super::{ElementError, Elements};

    /// Private, so that other crates cannot implement it.
    pub trait Sealed: Copy + PartialEq + Add<Output = Self> + Mul<Output = Self> {
        /// Rounds to the nearest number of this type.
        fn from_f64(number: f64) -> Self;
        fn is_finite(self) -> bool;
        /// Whether this marks an element that needs more than one word.
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
    fn is_finite(self) -> bool {
        self.is_finite()
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    fn uniform(elements: &Elements, first: u64, out: &mut [Self]) -> Result<(), ElementError> {
        elements.uniform_from_words(first, out, |word| from_u64(u64::from_le_bytes(word)))
    }
}

impl private::Sealed for f32 {
    #[inline(always)]
    fn from_f64(number: f64) -> Self {
        number as f32
    }

    #[inline(always)]
    fn is_finite(self) -> bool {
        self.is_finite()
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    fn uniform(elements: &Elements, first: u64, out: &mut [Self]) -> Result<(), ElementError> {
        elements.uniform_from_words(first, out, |word| from_u32(u32::from_le_bytes(word)))
    }
}

/// Converts every word by itself, at the width of registers that it is compiled for.
pub(super) struct Convert<'a, const WORD_BYTES: usize, T, F> {
    pub(super) words: &'a [[u8; WORD_BYTES]],
    pub(super) out: &'a mut [T],
    pub(super) convert: F,
}

impl<const WORD_BYTES: usize, T, F> SimdTask for Convert<'_, WORD_BYTES, T, F>
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

impl Elements {
    /// Fills `out` with uniform numbers in [0, 1): 0 is possible, 1 is not.
    ///
    /// An `f64` is a multiple of 2^-53, made from bytes 8 i to 8 i + 7 of the
    /// [`Stream`](crate::Stream) of this name; an `f32` is a multiple of 2^-24, made from bytes 4 i to
    /// 4 i + 3. These are the numbers of NumPy's `Generator.random` over the same stream: for Philox,
    /// the numbers of `Generator(Philox(SeedSequence(seed, spawn_key=path))).random(n)`.
    ///
    /// # Errors
    ///
    /// [`ElementError::PastTheEnd`] if the last index is 2^64 or above.
    pub fn uniform<T: Float>(&self, first: u64, out: &mut [T]) -> Result<(), ElementError> {
        T::uniform(self, first, out)
    }

    fn uniform_from_words<const WORD_BYTES: usize, T: Float>(
        &self,
        first: u64,
        out: &mut [T],
        convert: impl Fn([u8; WORD_BYTES]) -> T + Copy,
    ) -> Result<(), ElementError> {
        self.fill_from_words(STREAM_ROW, first, out, |_, words, out| {
            self.width.run(Convert {
                words,
                out,
                convert,
            });
        })
    }

    /// Uniform numbers from the words of a kind whose elements have a head of one word.
    pub(super) fn uniforms(
        &self,
        kind: Kind,
        first: u64,
        out: &mut [f64],
    ) -> Result<(), ElementError> {
        self.fill_from_words(kind.row(), first, out, |_, words, out| {
            self.width.run(Convert {
                words,
                out,
                convert: |word| from_u64(u64::from_le_bytes(word)),
            });
        })
    }
}
