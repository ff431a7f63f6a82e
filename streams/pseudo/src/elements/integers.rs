//! Unbiased integers of any range.

use core::ops::RangeInclusive;

use wellspring_cipher::SimdTask;

use super::arrays::{ElementError, Elements, Kind, Words};

/// How many elements are converted before a search for the ones that need another word.
const GROUP: usize = 64;

/// The integers of arrays: signed and unsigned, 8 to 64 bits.
pub trait Integer: private::Sealed {}

mod private {
    /// Private, so that other crates cannot implement it.
    pub trait Sealed: Copy + Ord {
        const IS_WIDE: bool;
        /// `high` - `low`, which is not negative.
        fn distance(low: Self, high: Self) -> u64;
        /// `self` + `distance`, which does not overflow.
        fn plus(self, distance: u64) -> Self;
    }
}

macro_rules! integer {
    ($($type:ident as $unsigned:ident),*) => {$(
        impl Integer for $type {}

        impl private::Sealed for $type {
            const IS_WIDE: bool = $type::BITS == 64;

            #[inline(always)]
            fn distance(low: Self, high: Self) -> u64 {
                high.wrapping_sub(low) as $unsigned as u64
            }

            #[inline(always)]
            fn plus(self, distance: u64) -> Self {
                self.wrapping_add(distance as $type)
            }
        }
    )*};
}

integer!(u8 as u8, u16 as u16, u32 as u32, u64 as u64);
integer!(i8 as u8, i16 as u16, i32 as u32, i64 as u64);

/// How a word becomes an integer below a bound (Lemire, "Fast random integer generation in an
/// interval", 2019): the upper half of the product of word and bound. Words whose lower half is below
/// 2^bits modulo the bound are rejected, so that every integer has the same number of words.
#[derive(Clone, Copy)]
struct Bound {
    /// From 1; 2^64 is written 0.
    bound: u64,
    threshold: u64,
}

impl Bound {
    /// The bound `largest` + 1 for words of `bits` bits, 32 or 64.
    const fn new(largest: u64, bits: u32) -> Self {
        let bound = largest.wrapping_add(1);
        let threshold = if bound == 0 {
            0
        } else if bits == 64 {
            bound.wrapping_neg() % bound
        } else {
            (1 << bits) % bound
        };
        Self { bound, threshold }
    }

    /// The integer of a word, and whether the word is rejected.
    #[inline(always)]
    fn of_u64(self, word: u64) -> (u64, bool) {
        if self.bound == 0 {
            return (word, false);
        }
        let product = u128::from(word) * u128::from(self.bound);
        ((product >> 64) as u64, (product as u64) < self.threshold)
    }

    /// Like [`of_u64`](Self::of_u64), for a bound below 2^32: two products of 32 bits, which wide
    /// registers make several at a time.
    #[inline(always)]
    fn of_u64_below_2_32(self, word: u64) -> (u64, bool) {
        let low = (word & 0xffff_ffff) * self.bound;
        let high = (word >> 32) * self.bound + (low >> 32);
        let lower_half = high << 32 | low & 0xffff_ffff;
        (high >> 32, lower_half < self.threshold)
    }

    /// Like [`of_u64`](Self::of_u64), for words of 32 bits and a bound of at most 2^32.
    #[inline(always)]
    fn of_u32(self, word: u32) -> (u64, bool) {
        // At most (2^32 - 1) 2^32, which fits.
        let product = u64::from(word) * self.bound;
        (product >> 32, u64::from(product as u32) < self.threshold)
    }

    /// An integer from as many words as it takes.
    fn retry(self, words: &mut Words<'_>) -> u64 {
        loop {
            let word = words.next_u64();
            let (integer, is_rejected) = self.of_u64(word);
            if !is_rejected {
                return integer;
            }
        }
    }
}

impl Words<'_> {
    /// An integer from 0 to `bound` - 1, all of the same probability. `bound` is at least 1.
    #[inline(always)]
    pub(super) fn next_below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next_u64()) * u128::from(bound);
        // The modulo in the threshold is slow and almost never needed: it is below the bound.
        if (product as u64) >= bound {
            return (product >> 64) as u64;
        }
        let exact = Bound::new(bound - 1, 64);
        if (product as u64) >= exact.threshold {
            return (product >> 64) as u64;
        }
        exact.retry(self)
    }
}

/// Converts words as far as one word is enough, and calls `again` for the others.
struct Convert<'a, const WORD_BYTES: usize, T, F, R> {
    words: &'a [[u8; WORD_BYTES]],
    out: &'a mut [T],
    low: T,
    integer: F,
    again: R,
}

impl<const WORD_BYTES: usize, T, F, R> SimdTask for Convert<'_, WORD_BYTES, T, F, R>
where
    T: Integer,
    F: Fn([u8; WORD_BYTES]) -> (u64, bool),
    R: FnMut(usize) -> T,
{
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let groups = self.out.chunks_mut(GROUP).zip(self.words.chunks(GROUP));
        for (group, (out, words)) in groups.enumerate() {
            let mut any_is_rejected = false;
            for (place, word) in out.iter_mut().zip(words) {
                let (integer, is_rejected) = (self.integer)(*word);
                *place = self.low.plus(integer);
                any_is_rejected |= is_rejected;
            }
            if any_is_rejected {
                for (index, (place, word)) in out.iter_mut().zip(words).enumerate() {
                    if (self.integer)(*word).1 {
                        *place = (self.again)(GROUP * group + index);
                    }
                }
            }
        }
    }
}

/// Converts words, each by its own range; the upper end is `past` past the range. Returns whether each range has an
/// integer.
struct ConvertEach<'a, const WORD_BYTES: usize, T, N, E> {
    words: &'a [[u8; WORD_BYTES]],
    low: &'a [T],
    high: &'a [T],
    past: u64,
    start: u64,
    out: &'a mut [T],
    narrow: N,
    exact: E,
}

impl<const WORD_BYTES: usize, T, N, E> SimdTask for ConvertEach<'_, WORD_BYTES, T, N, E>
where
    T: Integer,
    N: Fn([u8; WORD_BYTES], Bound) -> (u64, bool),
    E: Fn([u8; WORD_BYTES], u64, u64) -> u64,
{
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let largest = |low, high| T::distance(low, high).wrapping_sub(self.past);
        // The threshold is below its bound: with the bound in its place some words look rejected that are not.
        let narrow = |word, low: T, high: T| {
            let largest = largest(low, high);
            // Beyond it, `exact` makes the integer.
            let bound = largest.wrapping_add(1).min(1 << 32);
            let threshold = bound;
            let (integer, may_be_rejected) = (self.narrow)(word, Bound { bound, threshold });
            (integer, may_be_rejected | (largest >= u64::from(u32::MAX)))
        };
        let groups = self.out.chunks_mut(GROUP).zip(self.words.chunks(GROUP));
        let ranges = self.low.chunks(GROUP).zip(self.high.chunks(GROUP));
        for (group, ((out, words), (low, high))) in groups.zip(ranges).enumerate() {
            let each = || words.iter().zip(low).zip(high);
            let (mut any_is_open, mut are_right) = (false, true);
            for (place, ((word, low), high)) in out.iter_mut().zip(each()) {
                let (integer, is_open) = narrow(*word, *low, *high);
                *place = low.plus(integer);
                any_is_open |= is_open;
                are_right &= (low < high) | ((self.past == 0) & (low == high));
            }
            if !are_right {
                return false;
            }
            if any_is_open {
                for (index, (place, ((word, low), high))) in out.iter_mut().zip(each()).enumerate()
                {
                    if narrow(*word, *low, *high).1 {
                        let index = self.start.wrapping_add((GROUP * group + index) as u64);
                        *place = low.plus((self.exact)(*word, largest(*low, *high), index));
                    }
                }
            }
        }
        true
    }
}

impl Elements {
    /// Fills `out` with integers of a range, all of the same probability.
    ///
    /// Element i takes 32 bits of its row, or 64 bits for `i64` and `u64`, and more words of its own
    /// as long as its word is rejected: with a probability below the length of the range divided by
    /// 2^32 or 2^64.
    ///
    /// ```
    /// use wellspring_pseudo::{Algorithm, Elements};
    ///
    /// let elements = Elements::new(Algorithm::ChaCha8, 2026, &[])?;
    /// let mut dice = [0u8; 100];
    /// elements.integers(1..=6, 0, &mut dice)?;
    /// assert!(dice.iter().all(|die| (1..=6).contains(die)));
    /// # Ok::<(), wellspring_pseudo::ElementError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ElementError::EmptyRange`] if the range is empty, [`ElementError::PastTheEnd`] if the last
    /// index is 2^64 or above.
    pub fn integers<T: Integer>(
        &self,
        range: RangeInclusive<T>,
        first: u64,
        out: &mut [T],
    ) -> Result<(), ElementError> {
        let (low, high) = range.into_inner();
        if low > high {
            return Err(ElementError::EmptyRange);
        }
        let largest = T::distance(low, high);
        if T::IS_WIDE && largest < u64::from(u32::MAX) {
            let bound = Bound::new(largest, 64);
            let integer = |word| bound.of_u64_below_2_32(u64::from_le_bytes(word));
            self.convert(Kind::Integers64, low, largest, integer, first, out)
        } else if T::IS_WIDE {
            let bound = Bound::new(largest, 64);
            let integer = |word| bound.of_u64(u64::from_le_bytes(word));
            self.convert(Kind::Integers64, low, largest, integer, first, out)
        } else {
            let bound = Bound::new(largest, 32);
            let integer = |word| bound.of_u32(u32::from_le_bytes(word));
            self.convert(Kind::Integers32, low, largest, integer, first, out)
        }
    }

    /// Fills `out` with integers whose ranges differ: element i is from `low[i]` to `high[i]`, which is in the range if
    /// `has_high`. It is the same number as [`integers`](Self::integers) gives of this range.
    ///
    /// # Errors
    ///
    /// [`ElementError::EmptyRange`] if a range is empty, after a part of `out` was written, or there is not a range for each
    /// element; [`ElementError::PastTheEnd`] if the last index is 2^64 or above.
    pub fn integers_each<T: Integer>(
        &self,
        low: &[T],
        high: &[T],
        has_high: bool,
        first: u64,
        out: &mut [T],
    ) -> Result<(), ElementError> {
        if low.len() != out.len() || high.len() != out.len() {
            return Err(ElementError::EmptyRange);
        }
        let ranges = (low, high, has_high);
        if T::IS_WIDE {
            let narrow = |word, bound: Bound| bound.of_u64_below_2_32(u64::from_le_bytes(word));
            self.convert_each(
                Kind::Integers64,
                ranges,
                first,
                out,
                narrow,
                |word, largest, index| self.integer_of_u64(word, largest, Kind::Integers64, index),
            )
        } else {
            let narrow = |word, bound: Bound| bound.of_u32(u32::from_le_bytes(word));
            self.convert_each(
                Kind::Integers32,
                ranges,
                first,
                out,
                narrow,
                |word, largest, index| {
                    let (integer, is_rejected) =
                        Bound::new(largest, 32).of_u32(u32::from_le_bytes(word));
                    if is_rejected {
                        let words = &mut Words::new(&self.blocks, Kind::Integers32, index);
                        return Bound::new(largest, 64).retry(words);
                    }
                    integer
                },
            )
        }
    }

    /// Converts words by the range of each. `narrow` tells which words it may reject, if a threshold is as large as its bound,
    /// and `exact` gives the integer of such a word or of a range that is wider than 32 bits.
    fn convert_each<const WORD_BYTES: usize, T: Integer>(
        &self,
        kind: Kind,
        (low, high, has_high): (&[T], &[T], bool),
        first: u64,
        out: &mut [T],
        narrow: impl Fn([u8; WORD_BYTES], Bound) -> (u64, bool) + Copy,
        exact: impl Fn([u8; WORD_BYTES], u64, u64) -> u64 + Copy,
    ) -> Result<(), ElementError> {
        let (mut place, mut are_right) = (0, true);
        self.fill_from_words(kind.row(), first, out, |start, words, out| {
            let (low, high) = (&low[place..][..out.len()], &high[place..][..out.len()]);
            place += out.len();
            are_right &= self.width.run(ConvertEach {
                words,
                low,
                high,
                past: u64::from(!has_high),
                start,
                out,
                narrow,
                exact,
            });
        })?;
        if are_right {
            Ok(())
        } else {
            Err(ElementError::EmptyRange)
        }
    }

    /// An integer of 0 to `largest`, from a word and, if this is rejected, more words of the element.
    fn integer_of_u64(&self, word: [u8; 8], largest: u64, kind: Kind, index: u64) -> u64 {
        let word = u64::from_le_bytes(word);
        let Some(bound) = largest.checked_add(1) else {
            return word;
        };
        // The modulo in the threshold is slow and almost never needed: it is below the bound.
        let product = u128::from(word) * u128::from(bound);
        if (product as u64) >= bound || (product as u64) >= Bound::new(largest, 64).threshold {
            return (product >> 64) as u64;
        }
        Bound::new(largest, 64).retry(&mut Words::new(&self.blocks, kind, index))
    }

    fn convert<const WORD_BYTES: usize, T: Integer>(
        &self,
        kind: Kind,
        low: T,
        largest: u64,
        integer: impl Fn([u8; WORD_BYTES]) -> (u64, bool) + Copy,
        first: u64,
        out: &mut [T],
    ) -> Result<(), ElementError> {
        let retry_bound = Bound::new(largest, 64);
        self.fill_from_words(kind.row(), first, out, |start, words, out| {
            let again = |index: usize| {
                let index = start.wrapping_add(index as u64);
                low.plus(retry_bound.retry(&mut Words::new(&self.blocks, kind, index)))
            };
            self.width.run(Convert {
                words,
                out,
                low,
                integer,
                again,
            });
        })
    }

    /// An integer of 0 to `largest`, for element `index` of a shuffle.
    pub(super) fn shuffle_choice(&self, word: u64, largest: u64, index: u64) -> u64 {
        self.integer_of_u64(word.to_le_bytes(), largest, Kind::Shuffle, index)
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use proptest::prelude::*;

    use super::*;
    use crate::Algorithm;

    /// How many words give `integer`: those whose product lies between the first that is not rejected
    /// and the next integer.
    fn words_of(bound: Bound, integer: u64, bits: u32) -> u128 {
        let divisor = u128::from(bound.bound);
        let first = (u128::from(integer) << bits) + u128::from(bound.threshold);
        let end = u128::from(integer + 1) << bits;
        end.div_ceil(divisor) - first.div_ceil(divisor)
    }

    proptest! {
        #[test]
        fn every_integer_has_the_same_number_of_words(
            largest in 0..u64::from(u32::MAX),
            wide in 0..u64::MAX / 2,
            fraction in 0.0..1.0f64,
        ) {
            let bound = Bound::new(largest, 32);
            for integer in [0, largest, (largest as f64 * fraction) as u64] {
                prop_assert_eq!(words_of(bound, integer, 32), (1 << 32) / u128::from(bound.bound));
            }
            let bound = Bound::new(wide, 64);
            for integer in [0, wide, (wide as f64 * fraction) as u64] {
                prop_assert_eq!(words_of(bound, integer, 64), (1 << 64) / u128::from(bound.bound));
            }
        }

        #[test]
        fn two_small_products_are_the_large_one(largest in 0..u64::from(u32::MAX), word in any::<u64>()) {
            let bound = Bound::new(largest, 64);
            prop_assert_eq!(bound.of_u64_below_2_32(word), bound.of_u64(word));
            // Words whose lower half is near the threshold.
            let near = (u128::from(word) << 64).div_ceil(u128::from(bound.bound)) as u64;
            for word in [near, near.wrapping_sub(1)] {
                prop_assert_eq!(bound.of_u64_below_2_32(word), bound.of_u64(word));
            }
        }

        #[test]
        fn integers_stay_in_their_range(low in any::<i16>(), high in any::<i16>(), first in any::<u32>()) {
            let elements = Elements::new(Algorithm::ChaCha8, 7, &[]).unwrap();
            let mut out = [0; 100];
            let made = elements.integers(low..=high, first.into(), &mut out);
            if low > high {
                prop_assert_eq!(made, Err(ElementError::EmptyRange));
            } else {
                prop_assert_eq!(made, Ok(()));
                prop_assert!(out.iter().all(|integer| (low..=high).contains(integer)));
            }
        }
    }

    #[test]
    fn each_range_gives_the_integer_that_it_gives_alone() {
        let elements = Elements::new(Algorithm::ChaCha8, 7, &[]).unwrap();
        macro_rules! check {
            ($($type:ident),*) => {$(
                let (min, max) = ($type::MIN, $type::MAX);
                // A range that rejects about half of all words, and others.
                let ranges = [(min, max), (max, max), (0, max / 2 + 1), (1, 6), (min, min), (min + 1, max)];
                let column = |end: fn(($type, $type)) -> $type| -> std::vec::Vec<$type> {
                    (0..600).map(|i| end(ranges[i % 7 % ranges.len()])).collect()
                };
                let (low, high) = (column(|range| range.0), column(|range| range.1));
                let mut out = vec![0; 600];
                elements.integers_each(&low, &high, true, 70, &mut out).unwrap();
                for i in 0..600 {
                    let mut own = [0];
                    elements.integers(low[i]..=high[i], 70 + i as u64, &mut own).unwrap();
                    assert_eq!(own[0], out[i], "{} {}", low[i], high[i]);
                }
                let empty = Err(ElementError::EmptyRange);
                assert_eq!(elements.integers_each(&low, &low, false, 0, &mut out), empty);
                assert_eq!(elements.integers_each(&high, &low, true, 0, &mut out), empty);
                assert_eq!(elements.integers_each(&low[1..], &high, true, 0, &mut out), empty);
                let (low, past) = (vec![1; 600], vec![7; 600]);
                elements.integers_each(&low, &past, false, 0, &mut out).unwrap();
                let mut dice = vec![0; 600];
                elements.integers(1..=6, 0, &mut dice).unwrap();
                assert_eq!(out, dice);
            )*};
        }
        check!(u8, u16, u32, u64, i8, i16, i32, i64);
    }

    #[test]
    fn whole_ranges_of_every_type_reach_both_ends() {
        let elements = Elements::new(Algorithm::ChaCha8, 7, &[]).unwrap();
        macro_rules! check {
            ($($type:ident),*) => {$(
                let mut out = vec![0; 10_000];
                elements.integers($type::MIN..=$type::MAX, 0, &mut out).unwrap();
                let sixteenth = $type::MAX / 16;
                assert!(out.iter().any(|&x| x > $type::MAX - sixteenth), stringify!($type));
                assert!(out.iter().any(|&x| x < $type::MIN + sixteenth), stringify!($type));
                elements.integers($type::MAX..=$type::MAX, 0, &mut out).unwrap();
                assert!(out.iter().all(|&x| x == $type::MAX), stringify!($type));
                elements.integers($type::MIN..=$type::MIN, 0, &mut out).unwrap();
                assert!(out.iter().all(|&x| x == $type::MIN), stringify!($type));
                assert_eq!(
                    elements.integers(RangeInclusive::new($type::MAX, $type::MIN), 0, &mut out),
                    Err(ElementError::EmptyRange)
                );
            )*};
        }
        check!(u8, u16, u32, u64, i8, i16, i32, i64);
    }

    #[test]
    fn rejected_words_are_replaced_without_bias() {
        // A quarter of the words is rejected; without that, one third of the range would be twice as
        // probable.
        let elements = Elements::new(Algorithm::Philox4x64, 7, &[]).unwrap();
        let draws = 300_000;
        let (mut narrow, mut wide) = (vec![0u32; draws], vec![0u64; draws]);
        elements
            .integers(0..=3 * (1 << 30) - 1, 0, &mut narrow)
            .unwrap();
        elements
            .integers(0..=3 * (1 << 62) - 1, 0, &mut wide)
            .unwrap();
        let mut thirds = [[0u32; 3]; 4];
        for (x, y) in narrow.into_iter().zip(wide) {
            thirds[0][(x >> 30) as usize] += 1;
            thirds[1][(x % 3) as usize] += 1;
            thirds[2][(y >> 62) as usize] += 1;
            thirds[3][(y % 3) as usize] += 1;
        }
        // 5 standard deviations of a count.
        let allowed = 5.0 * (draws as f64 * 2.0 / 9.0).sqrt();
        for count in thirds.as_flattened() {
            let excess = f64::from(*count) - draws as f64 / 3.0;
            assert!(excess.abs() < allowed, "{thirds:?}");
        }
    }
}
