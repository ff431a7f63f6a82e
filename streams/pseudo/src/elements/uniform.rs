//! Uniform floats in [0, 1).

use wellspring_cipher::{SimdTask, Uniform, Width};

use super::arrays::{ElementError, Elements, STREAM_ROW, check_range};

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
        elements.uniform_from_words(first, out, |word| from_u64(u64::from_le_bytes(word)))
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

    fn uniform_from_words<const WORD_BYTES: usize, T: Uniform>(
        &self,
        first: u64,
        out: &mut [T],
        convert: impl Fn([u8; WORD_BYTES]) -> T + Copy,
    ) -> Result<(), ElementError> {
        check_range(first, out.len())?;
        let from_words = |first, out: &mut [T]| {
            self.fill_from_words(STREAM_ROW, first, out, |_, words, out| {
                self.width.run(Convert {
                    words,
                    out,
                    convert,
                });
            })
        };
        // The widest registers make floats of whole blocks as they store them. What is before and after comes from words.
        let block = (self.blocks.block_bytes() / WORD_BYTES) as u64;
        let before = (first.wrapping_neg() % block) as usize;
        let (head, rest) = out.split_at_mut(before.min(out.len()));
        from_words(first, head)?;
        let first = first.wrapping_add(head.len() as u64);
        let made = if self.width == Width::detect() {
            let first_block = u128::from(first / block);
            self.blocks.fill_uniform(STREAM_ROW, first_block, rest)
        } else {
            0
        };
        from_words(first.wrapping_add(made as u64), &mut rest[made..])
    }
}
