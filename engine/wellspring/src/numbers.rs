//! Integers, fractions and choices from a generator: one algorithm for each, and the methods of every generator that
//! call it.

use core::ops::{Bound, RangeBounds};
use rand_core::Rng;
use std::collections::HashSet;
pub use wellspring_os::cpu::Text;
use zeroize::Zeroizing;

/// The primitive integers, which `below` and `range` draw. No other type can implement it.
#[diagnostic::on_unimplemented(
    message = "`below` and `range` draw integers, and `{Self}` is no integer",
    note = "a fraction from low to high is `low + (high - low) * wellspring::f64()`"
)]
pub trait Integer: sealed::Integer {}

mod sealed {
    use rand_core::Rng;

    pub trait Integer: Copy + PartialOrd + core::fmt::Debug {
        const MIN: Self;
        const MAX: Self;
        const ZERO: Self;
        /// `None` at the largest integer.
        fn next(self) -> Option<Self>;
        /// `None` at the smallest integer.
        fn previous(self) -> Option<Self>;
        /// One of `low..=high`, each equally likely. `low` is at most `high`.
        fn draw<R: Rng>(rng: &mut R, low: Self, high: Self) -> Self;
    }
}

/// One of `0..=last`, each equally likely: the method of Lemire, "Fast Random Integer Generation in an Interval" (ACM
/// Transactions on Modeling and Computer Simulation, 2019), with words of `$word`.
///
/// The high half of `word * count` is the result. Some results would have one word more than others, so that
/// `2^bits % count` words are rejected, those with the smallest low halves. The division that finds this number runs
/// only where the low half is below `count`.
macro_rules! lemire {
    ($name:ident, $visibility:vis $up_to:ident, $word:ty, $double:ty, $draw:ident) => {
        #[inline]
        fn $name<R: Rng>(rng: &mut R, last: $word) -> $word {
            $up_to(last, || rng.$draw())
        }

        /// One of `0..=last`, each equally likely, from uniform words.
        #[doc(hidden)]
        #[inline]
        $visibility fn $up_to(last: $word, mut draw: impl FnMut() -> $word) -> $word {
            let Some(count) = last.checked_add(1) else {
                return draw();
            };
            let mut product = <$double>::from(draw()) * <$double>::from(count);
            if (product as $word) < count {
                let rejected = count.wrapping_neg() % count;
                while (product as $word) < rejected {
                    product = <$double>::from(draw()) * <$double>::from(count);
                }
            }
            (product >> <$word>::BITS) as $word
        }
    };
}

lemire!(up_to_u32, u32_from_words, u32, u64, next_u32);
lemire!(up_to_u64, pub u64_from_words, u64, u128, next_u64);

/// One of `0..=last`, each equally likely. Beyond 64 bits, numbers of the bits of `last` are drawn until one fits: two
/// draws at most in the mean.
#[inline]
fn up_to_u128<R: Rng>(rng: &mut R, last: u128) -> u128 {
    if let Ok(last) = u64::try_from(last) {
        return up_to_u64(rng, last).into();
    }
    let mask = u128::MAX >> last.leading_zeros();
    loop {
        let high = u128::from(rng.next_u64()) << 64;
        let number = (high | u128::from(rng.next_u64())) & mask;
        if number <= last {
            return number;
        }
    }
}

macro_rules! integers {
    ($($integer:ty, $unsigned:ty, $word:ty, $up_to:ident;)*) => {$(
        impl Integer for $integer {}

        impl sealed::Integer for $integer {
            const MIN: Self = Self::MIN;
            const MAX: Self = Self::MAX;
            const ZERO: Self = 0;

            #[inline]
            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }

            #[inline]
            fn previous(self) -> Option<Self> {
                self.checked_sub(1)
            }

            #[inline]
            fn draw<R: Rng>(rng: &mut R, low: Self, high: Self) -> Self {
                // The difference of two signed integers may need all bits of the unsigned type, and wraps to it.
                let last = high.wrapping_sub(low) as $unsigned;
                low.wrapping_add($up_to(rng, last as $word) as Self)
            }
        }
    )*};
}

integers! {
    u8, u8, u32, up_to_u32;
    i8, u8, u32, up_to_u32;
    u16, u16, u32, up_to_u32;
    i16, u16, u32, up_to_u32;
    u32, u32, u32, up_to_u32;
    i32, u32, u32, up_to_u32;
    u64, u64, u64, up_to_u64;
    i64, u64, u64, up_to_u64;
    usize, usize, u64, up_to_u64;
    isize, usize, u64, up_to_u64;
    u128, u128, u128, up_to_u128;
    i128, u128, u128, up_to_u128;
}

#[inline]
#[track_caller]
pub fn below<T: Integer>(rng: &mut impl Rng, n: T) -> T {
    assert!(n > T::ZERO, "below(n) needs an n of 1 or more");
    // An integer above zero has one before it.
    let last = n.previous().unwrap_or(T::ZERO);
    T::draw(rng, T::ZERO, last)
}

#[inline]
#[track_caller]
pub fn range<T: Integer>(rng: &mut impl Rng, range: impl RangeBounds<T>) -> T {
    let low = match range.start_bound() {
        Bound::Included(low) => Some(*low),
        Bound::Excluded(before) => before.next(),
        Bound::Unbounded => Some(T::MIN),
    };
    let high = match range.end_bound() {
        Bound::Included(high) => Some(*high),
        Bound::Excluded(after) => after.previous(),
        Bound::Unbounded => Some(T::MAX),
    };
    match (low, high) {
        (Some(low), Some(high)) if low <= high => T::draw(rng, low, high),
        _ => no_integer(range.start_bound(), range.end_bound()),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn no_integer<T: Integer>(start: Bound<&T>, end: Bound<&T>) -> ! {
    panic!("range(..) needs a range with at least one integer in it, not from {start:?} to {end:?}")
}

#[inline]
pub fn f64(rng: &mut impl Rng) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * STEP
}

#[inline]
pub fn choose<'a, T>(rng: &mut impl Rng, slice: &'a [T]) -> Option<&'a T> {
    let last = slice.len().checked_sub(1)?;
    // Half a word is enough for most slices.
    slice.get(match u32::try_from(last) {
        Ok(last) => up_to_u32(rng, last) as usize,
        Err(_) => up_to_u64(rng, last as u64) as usize,
    })
}

// A random order: several positions from one word.

/// Returns how many positions below `count` one word gives: their product has 57 bits at most, so that fewer than one
/// word in 128 is looked at twice. Above 2^28 it is one.
fn positions_per_word(count: usize) -> usize {
    match usize::BITS - count.leading_zeros() {
        0..=9 => 6,
        10..=11 => 5,
        12..=14 => 4,
        15..=19 => 3,
        20..=28 => 2,
        _ => 1,
    }
}

/// The method of Fisher and Yates, from the end.
pub fn shuffle<T>(rng: &mut impl Rng, slice: &mut [T]) {
    let mut left = slice.len();
    while left > 1 {
        left = match positions_per_word(left).min(left - 1) {
            6 => place::<6, T>(rng, slice, left),
            5 => place::<5, T>(rng, slice, left),
            4 => place::<4, T>(rng, slice, left),
            3 => place::<3, T>(rng, slice, left),
            2 => place::<2, T>(rng, slice, left),
            _ => place::<1, T>(rng, slice, left),
        };
    }
}

/// Places the last `N` of the first `left` elements. Returns how many are left.
#[inline]
fn place<const N: usize, T>(rng: &mut impl Rng, slice: &mut [T], left: usize) -> usize {
    for (step, position) in draw::<N>(rng, left).into_iter().enumerate() {
        slice.swap(left - 1 - step, position);
    }
    left - N
}

/// Draws `N` positions: one below `left`, one below `left - 1`, and so on. All combinations are equally likely.
///
/// The method of Brackett-Rozinsky and Lemire, "Batched Ranged Random Integer Generation" (Software: Practice and
/// Experience, 2024). The low half of each product is the word for the next position. `2^64 % product` words are
/// rejected, where `product` is the number of combinations: those with the smallest last low halves.
#[inline]
fn draw<const N: usize>(rng: &mut impl Rng, left: usize) -> [usize; N] {
    let product: u64 = (0..N).map(|step| (left - step) as u64).product();
    loop {
        let mut word = rng.next_u64();
        let positions = core::array::from_fn(|step| {
            let wide = u128::from(word) * (left - step) as u128;
            word = wide as u64;
            (wide >> 64) as usize
        });
        if word >= product || word >= product.wrapping_neg() % product {
            return positions;
        }
    }
}

/// Floyd's method (Bentley and Floyd, "Programming pearls: a sample of brilliance", Communications of the ACM, 1987), and then
/// a shuffle. It takes memory for the chosen elements alone, however long the slice is.
pub fn choose_multiple<'a, T>(rng: &mut impl Rng, slice: &'a [T], count: usize) -> Vec<&'a T> {
    let (length, count) = (slice.len(), count.min(slice.len()));
    let mut taken = HashSet::with_capacity(count);
    let mut chosen = Vec::with_capacity(count);
    for last in length - count..length {
        let place = up_to_u64(rng, last as u64) as usize;
        let place = if taken.insert(place) { place } else { last };
        taken.insert(place);
        chosen.push(&slice[place]);
    }
    shuffle(rng, &mut chosen);
    chosen
}

#[track_caller]
pub fn choose_weighted<'a, T>(
    rng: &mut impl Rng,
    slice: &'a [T],
    weights: &[u64],
) -> Option<&'a T> {
    let (elements, numbers) = (slice.len(), weights.len());
    assert!(
        elements == numbers,
        "{elements} elements have {numbers} weights"
    );
    let sum = weights
        .iter()
        .try_fold(0u64, |sum, &weight| sum.checked_add(weight));
    let last = sum
        .expect("the sum of the weights is below 2^64")
        .checked_sub(1)?;
    let mut left = up_to_u64(rng, last);
    let place = weights.iter().position(|&weight| {
        let is_here = left < weight;
        left = left.wrapping_sub(weight);
        is_here
    });
    slice.get(place?)
}

/// Each of the 62 letters and digits is equally likely: bytes of 248 and above, 4 times 62, are drawn again.
pub fn alphanumeric<const N: usize>(rng: &mut impl Rng) -> Text<N> {
    let mut text = [0; N];
    let mut bytes = Zeroizing::new([0; 64]);
    let mut fresh = 0;
    for character in &mut text {
        *character = loop {
            if fresh == 0 {
                rng.fill_bytes(&mut *bytes);
                fresh = bytes.len();
            }
            fresh -= 1;
            if bytes[fresh] < 248 {
                break base64url_digit(u32::from(bytes[fresh] % 62));
            }
        };
    }
    Text::new(text)
}

/// The digit of six bits; the first 62 are letters and digits. By additions: a table would be seen in the cache.
#[inline(always)]
pub(crate) fn base64url_digit(six: u32) -> u8 {
    let from = |first: u32| (six + 64 - first) >> 6;
    let small = from(26) * u32::from(b'a' - b'Z' - 1);
    // After z comes 0, after 9 comes -, after - comes _.
    let digits = from(52) * (u32::from(b'z') + 1 - u32::from(b'0'));
    let minus = from(62) * (u32::from(b'9') + 1 - u32::from(b'-'));
    let underscore = from(63) * (u32::from(b'_') - u32::from(b'-') - 1);
    (six + u32::from(b'A') + small + underscore - digits - minus) as u8
}

/// Writes the functions of this module as methods or, without a receiver, as free functions. `$rng` is the generator they
/// draw on, a `&mut impl Rng`. The crate that uses it depends on rand_core.
#[doc(hidden)]
#[macro_export]
macro_rules! numbers {
    ([$($receiver:tt)*] => $rng:expr, $quality:literal) => {
        #[doc = concat!("16 random bits, ", $quality, ".")]
        #[must_use]
        #[inline]
        pub fn u16($($receiver)*) -> u16 {
            rand_core::Rng::next_u32($rng) as u16
        }

        #[doc = concat!("32 random bits, ", $quality, ".")]
        #[must_use]
        #[inline]
        pub fn u32($($receiver)*) -> u32 {
            rand_core::Rng::next_u32($rng)
        }

        #[doc = concat!("64 random bits, ", $quality, ".")]
        #[must_use]
        #[inline]
        pub fn u64($($receiver)*) -> u64 {
            rand_core::Rng::next_u64($rng)
        }

        #[doc = concat!("`true` or `false`, each equally likely, ", $quality, ".")]
        #[must_use]
        #[inline]
        pub fn bool($($receiver)*) -> bool {
            (rand_core::Rng::next_u32($rng) as i32) < 0
        }

        #[doc = concat!("A multiple of 2⁻⁵³ from 0 to 1, without 1, each equally likely, ", $quality, ".")]
        #[must_use]
        #[inline]
        pub fn f64($($receiver)*) -> f64 {
            $crate::numbers::f64($rng)
        }

        #[doc = concat!("One of the integers from 0 to `n` - 1, ", $quality, ". Exactly unbiased, unlike `u64() % n`, ")]
        /// by the method of Lemire (2019).
        ///
        /// # Panics
        ///
        /// If `n` is 0 or negative.
        #[must_use]
        #[inline]
        #[track_caller]
        pub fn below<T: $crate::Integer>($($receiver)* n: T) -> T {
            $crate::numbers::below($rng, n)
        }

        #[doc = concat!("One of the integers of `range`, ", $quality, ". Exactly unbiased.")]
        /// An open end is the first or last integer of the type: `1..`, `..`.
        ///
        /// # Panics
        ///
        /// If `range` is empty.
        #[must_use]
        #[inline]
        #[track_caller]
        pub fn range<T: $crate::Integer>($($receiver)* range: impl core::ops::RangeBounds<T>) -> T {
            $crate::numbers::range($rng, range)
        }

        #[doc = concat!("Puts `slice` into a random order, ", $quality, ". Every order is equally likely.")]
        #[inline]
        pub fn shuffle<T>($($receiver)* slice: &mut [T]) {
            $crate::numbers::shuffle($rng, slice);
        }

        #[doc = concat!("One element of `slice`, each equally likely, ", $quality, ". `None` for an empty slice.")]
        #[must_use]
        #[inline]
        #[allow(clippy::needless_lifetimes, reason = "needed where there is a receiver")]
        pub fn choose<'a, T>($($receiver)* slice: &'a [T]) -> Option<&'a T> {
            $crate::numbers::choose($rng, slice)
        }

        #[doc = concat!("`count` different elements of `slice` in a random order, ", $quality, ". Every choice and order is ")]
        /// equally likely. All of them, if there are fewer.
        #[must_use]
        #[allow(clippy::needless_lifetimes, reason = "needed where there is a receiver")]
        pub fn choose_multiple<'a, T>($($receiver)* slice: &'a [T], count: usize) -> Vec<&'a T> {
            $crate::numbers::choose_multiple($rng, slice, count)
        }

        #[doc = concat!("One element of `slice`, ", $quality, ". Element i comes with a probability of `weights[i]` in the ")]
        /// sum of the weights, exactly. `None` if the sum is 0.
        ///
        /// # Panics
        ///
        /// If the lengths differ, or the sum is 2^64 or above.
        #[must_use]
        #[track_caller]
        #[allow(clippy::needless_lifetimes, reason = "needed where there is a receiver")]
        pub fn choose_weighted<'a, T>($($receiver)* slice: &'a [T], weights: &[u64]) -> Option<&'a T> {
            $crate::numbers::choose_weighted($rng, slice, weights)
        }

        #[doc = concat!("A text of `N` letters and digits of ASCII, each of the 62 equally likely, ", $quality, ".")]
        /// 22 characters have 130 bits.
        #[must_use]
        pub fn alphanumeric<const N: usize>($($receiver)*) -> $crate::numbers::Text<N> {
            $crate::numbers::alphanumeric($rng)
        }
    };
}

pub use numbers;

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;
    use rand_core::TryRng;
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Gives the same bytes in every run: no test here can fail by chance.
    fn engine() -> crate::Engine {
        let builder = crate::Engine::builder().sources([]);
        builder
            .seed(b"a seed that has 32 bytes, always")
            .build()
            .unwrap()
    }

    /// Gives the numbers that a test wrote down, and no more.
    struct Script<'a>(std::slice::Iter<'a, u64>);

    impl TryRng for Script<'_> {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            self.try_next_u64().map(|word| u32::try_from(word).unwrap())
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(*self.0.next().expect("more draws than were expected"))
        }

        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
            unreachable!("numbers come from words")
        }
    }

    fn script(words: &[u64]) -> Script<'_> {
        Script(words.iter())
    }

    /// Pearson's statistic of counts that should be equal.
    fn chi_square(counts: &[u32]) -> f64 {
        let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        let terms = counts
            .iter()
            .map(|&count| (f64::from(count) - mean).powi(2) / mean);
        terms.sum()
    }

    /// The limit that chi-square is below with probability 0.9999: the approximation of Wilson and Hilferty.
    fn chi_square_limit(classes: usize) -> f64 {
        let freedom = (classes - 1) as f64;
        let spread = 2.0 / (9.0 * freedom);
        freedom * (1.0 - spread + 3.719 * spread.sqrt()).powi(3)
    }

    #[test]
    fn words_that_would_favour_a_result_are_rejected_and_no_others() {
        // 2^64 % 6 = 4: the words with a low half below 4 are rejected, as 0 is (0) and (2^64 + 2) / 6 (2).
        let third = (u64::MAX / 6) + 1;
        assert_eq!(third.wrapping_mul(6), 2);
        assert_eq!(up_to_u64(&mut script(&[0, third, 7]), 5), 0);
        // A low half of 4 is the first that is not rejected.
        let fourth = u64::MAX / 3 + 1;
        assert_eq!(fourth.wrapping_mul(6), 4);
        assert_eq!(up_to_u64(&mut script(&[fourth]), 5), 2);
        assert_eq!(up_to_u64(&mut script(&[u64::MAX]), 5), 5);
        // A power of two divides 2^32, so that nothing is rejected.
        assert_eq!(up_to_u32(&mut script(&[0]), 7), 0);
        assert_eq!(up_to_u32(&mut script(&[u64::from(u32::MAX)]), 7), 7);
        // All words: no multiplication.
        assert_eq!(up_to_u64(&mut script(&[11]), u64::MAX), 11);
        assert_eq!(up_to_u32(&mut script(&[11]), u32::MAX), 11);
    }

    #[test]
    fn a_number_above_64_bits_is_drawn_until_it_fits() {
        let last = 1u128 << 64;
        assert_eq!(up_to_u128(&mut script(&[1, 5, 0, 5]), last), 5);
        assert_eq!(up_to_u128(&mut script(&[1, 0]), last), last);
        assert_eq!(up_to_u128(&mut script(&[7, 9]), u128::MAX), 7 << 64 | 9);
        assert_eq!(up_to_u128(&mut script(&[u64::MAX]), 99), 99);
    }

    #[test]
    fn every_result_of_a_small_count_is_equally_likely() {
        let mut rng = engine().rng();
        for count in [2usize, 3, 5, 6, 7, 10, 16, 100] {
            let draws = 1000 * count;
            let mut counts = vec![[0u32; 5]; count];
            for _ in 0..draws {
                counts[rng.below(count)][0] += 1;
                counts[rng.below(count as u32) as usize][1] += 1;
                counts[rng.below(count as u8) as usize][2] += 1;
                counts[rng.below(count as i128) as usize][3] += 1;
                counts[(rng.range(-50..count as i8 - 50) + 50) as usize][4] += 1;
            }
            for column in 0..5 {
                let column: Vec<u32> = counts.iter().map(|row| row[column]).collect();
                let found = chi_square(&column);
                assert!(
                    found < chi_square_limit(count),
                    "{count}: {found} of {column:?}"
                );
            }
        }
    }

    #[test]
    fn a_count_that_a_remainder_would_bias_is_not_biased() {
        // With count = 3 * 2^30, `u32() % count` is below 2^30 in half of the draws, instead of in a third.
        let mut rng = engine().rng();
        let count = 3u32 << 30;
        let mut counts = [0; 3];
        for _ in 0..30_000 {
            counts[(rng.below(count) >> 30) as usize] += 1;
        }
        assert!(chi_square(&counts) < chi_square_limit(3), "{counts:?}");
    }

    macro_rules! assert_edges {
    ($($integer:ty)*) => {$(
        let rng = engine();
        let (min, max) = (<$integer>::MIN, <$integer>::MAX);
        let one: $integer = 1;
        assert_eq!(rng.below(one), 0);
        for edge in [min, max, 0] {
            assert_eq!(rng.range(edge..=edge), edge);
        }
        for _ in 0..100 {
            assert!(rng.below(max) < max);
            assert!(rng.range(min..max) < max);
            assert!(rng.range(max - 2..) >= max - 2);
            assert!(rng.range(..=min + 2) <= min + 2);
            let excluded = (Bound::Excluded(min), Bound::Excluded(min + 2));
            assert_eq!(rng.range(excluded), min + 1);
        }
        // The type's whole range: the lowest and the highest bit take both values.
        let all: HashSet<$integer> = (0..200).map(|_| rng.range(..)).collect();
        for bit in [0, <$integer>::BITS - 1] {
            let ones = all.iter().filter(|number| **number >> bit & 1 != 0).count();
            assert!(ones > 0 && ones < all.len());
        }
        for empty in [
            (Bound::Included(one), Bound::Excluded(one)),
            (Bound::Included(max), Bound::Included(min)),
            (Bound::Excluded(max), Bound::Unbounded),
            (Bound::Unbounded, Bound::Excluded(min)),
        ] {
            assert!(catch_unwind(AssertUnwindSafe(|| rng.range(empty))).is_err(), "{empty:?}");
        }
        assert!(catch_unwind(AssertUnwindSafe(|| rng.below(one - 1))).is_err());
    )*};
}

    #[test]
    fn edges_of_every_type_are_reached_and_not_passed() {
        assert_edges!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize u128 i128);
    }

    #[test]
    #[should_panic(expected = "below(n) needs an n of 1 or more")]
    fn below_zero_says_what_it_needs() {
        let _ = crate::below(0u64);
    }

    #[test]
    #[should_panic(expected = "below(n) needs an n of 1 or more")]
    fn below_a_negative_number_says_what_it_needs() {
        let _ = crate::below(-1);
    }

    #[test]
    #[should_panic(
        expected = "range(..) needs a range with at least one integer in it, not from Included(2) to Excluded(1)"
    )]
    #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
    fn an_empty_range_says_what_it_needs() {
        let _ = crate::range(2..1);
    }

    #[test]
    fn every_choice_of_several_in_every_order_is_equally_likely() {
        let rng = engine();
        let mut counts = std::collections::HashMap::new();
        for _ in 0..12_000 {
            let chosen: [u8; 3] = <[&u8; 3]>::try_from(rng.choose_multiple(&[1, 2, 3, 4, 5], 3))
                .unwrap()
                .map(|&number| number);
            *counts.entry(chosen).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 60);
        let counts: Vec<_> = counts.into_values().collect();
        assert!(chi_square(&counts) < chi_square_limit(60), "{counts:?}");

        for length in 0..50 {
            let slice: Vec<_> = (0..length).collect();
            for count in [0, 1, length / 2, length, length + 7] {
                let chosen = rng.choose_multiple(&slice, count);
                let different: HashSet<_> = chosen.iter().copied().collect();
                assert_eq!(chosen.len(), count.min(length));
                assert_eq!(different.len(), chosen.len());
            }
        }
    }

    #[test]
    fn a_weighted_choice_follows_its_weights() {
        // A third of the words each give 0, 1 and 2. Word 0 is the one too many.
        for (word, chosen) in [(1, 'b'), (u64::MAX / 3 + 1, 'd'), (u64::MAX, 'd')] {
            let letters = ['a', 'b', 'c', 'd'];
            let drawn = choose_weighted(&mut script(&[word]), &letters, &[0, 1, 0, 2]);
            assert_eq!(drawn, Some(&chosen), "{word:x}");
        }
        let rng = engine();
        assert_eq!(rng.choose_weighted(&["a", "b"], &[0, 0]), None);
        assert_eq!(rng.choose_weighted::<&str>(&[], &[]), None);
        assert_eq!(rng.choose_weighted(&["a", "b"], &[0, u64::MAX]), Some(&"b"));
        for (weights, message) in [
            (
                [1, u64::MAX].as_slice(),
                "the sum of the weights is below 2^64",
            ),
            (&[1], "2 elements have 1 weights"),
        ] {
            let drawn = catch_unwind(AssertUnwindSafe(|| {
                rng.choose_weighted(&["a", "b"], weights).copied()
            }));
            let panic = drawn.unwrap_err();
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            assert!(text.is_some_and(|text| text.contains(message)), "{text:?}");
        }
    }

    #[test]
    fn every_letter_and_digit_of_a_text_is_equally_likely() {
        let rng = engine();
        let mut counts = std::collections::HashMap::new();
        for _ in 0..100 {
            for character in rng.alphanumeric::<310>().chars() {
                assert!(character.is_ascii_alphanumeric());
                *counts.entry(character).or_insert(0) += 1;
            }
        }
        assert_eq!(counts.len(), 62);
        let counts: Vec<_> = counts.into_values().collect();
        assert!(chi_square(&counts) < chi_square_limit(62), "{counts:?}");
        assert_eq!(rng.alphanumeric::<0>().len(), 0);
    }

    #[test]
    fn memory_without_a_value_is_filled_and_returned() {
        let mut bytes = Vec::with_capacity(1000);
        let room = bytes.spare_capacity_mut();
        let (address, length) = (room.as_ptr().addr(), room.len());
        let filled = crate::fill_uninit(room);
        assert_eq!((filled.as_ptr().addr(), filled.len()), (address, length));
        assert!(
            filled
                .as_chunks::<16>()
                .0
                .iter()
                .all(|chunk| *chunk != [0; 16])
        );
        bytes.push(0u8);
    }

    #[test]
    fn a_fraction_has_53_bits_and_never_is_1() {
        assert_eq!(f64(&mut script(&[0])), 0.0);
        assert_eq!(f64(&mut script(&[u64::MAX])), 1.0 - f64::EPSILON / 2.0);
        assert_eq!(f64(&mut script(&[1 << 11])), f64::EPSILON / 2.0);
        let rng = engine();
        let mut tenths = [0; 10];
        for _ in 0..10_000 {
            tenths[(rng.f64() * 10.0) as usize] += 1;
        }
        assert!(chi_square(&tenths) < chi_square_limit(10), "{tenths:?}");
    }

    #[test]
    fn both_truth_values_and_all_bits_of_short_words_are_equally_likely() {
        let rng = engine();
        let mut truths = [0; 2];
        let mut ones = [0u32; 16];
        for _ in 0..10_000 {
            truths[usize::from(rng.bool())] += 1;
            let word = rng.u16();
            (0..16).for_each(|bit| ones[bit] += u32::from(word >> bit & 1));
        }
        assert!(chi_square(&truths) < chi_square_limit(2), "{truths:?}");
        for ones in ones {
            assert!(
                chi_square(&[ones, 10_000 - ones]) < chi_square_limit(2),
                "{ones}"
            );
        }
    }

    #[test]
    fn a_shuffle_reaches_all_24_orders_of_4_equally() {
        let mut rng = engine().rng();
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut order = [0u8, 1, 2, 3];
            rng.shuffle(&mut order);
            *counts.entry(order).or_insert(0) += 1;
        }
        let counts: Vec<u32> = counts.into_values().collect();
        assert_eq!(counts.len(), 24);
        assert!(chi_square(&counts) < chi_square_limit(24), "{counts:?}");
    }

    #[test]
    fn a_word_that_would_favour_an_order_is_rejected_and_no_other() {
        // 2^64 % 6 = 4: of the words, those with a last low half below 4 are rejected.
        assert_eq!(draw(&mut script(&[0, u64::MAX]), 3), [2, 1]);
        // One more than a sixth of 2^64 has a last low half of 2, the word after it of 8.
        let sixth = u64::MAX / 6 + 1;
        assert_eq!(sixth.wrapping_mul(6), 2);
        assert_eq!(draw(&mut script(&[sixth, u64::MAX]), 3), [2, 1]);
        assert_eq!(draw(&mut script(&[sixth + 1]), 3), [0, 1]);
        // A low half of 4 is the first that is not rejected.
        let third = u64::MAX / 3 + 1;
        assert_eq!(third.wrapping_mul(6), 4);
        assert_eq!(draw(&mut script(&[third]), 3), [1, 0]);
    }

    /// The word in the middle of the share of each combination gives that combination, the last position counted first.
    fn check_shares<const N: usize>(left: usize) {
        let product: u64 = (0..N).map(|step| (left - step) as u64).product();
        for i in (0..product).step_by(1 + product as usize / 5000) {
            let middle = ((u128::from(i) * 2 + 1) << 63) / u128::from(product);
            let found: [usize; N] = draw(&mut script(&[middle as u64]), left);
            let mut rest = i;
            for step in (0..N).rev() {
                let count = (left - step) as u64;
                assert_eq!(found[step] as u64, rest % count, "{left}, {i}, {step}");
                rest /= count;
            }
        }
    }

    #[test]
    fn each_combination_of_positions_has_the_same_share_of_the_words() {
        check_shares::<2>(3);
        check_shares::<6>(7);
        check_shares::<5>(12);
        check_shares::<3>(40);
    }

    #[test]
    fn the_positions_of_a_word_leave_seven_bits_to_spare() {
        for bits in 1..=28 {
            let largest = (1u64 << bits) - 1;
            let positions = positions_per_word(largest as usize) as u32;
            assert!(largest.pow(positions) < 1 << 57, "{bits} bits");
        }
    }

    #[test]
    fn a_shuffle_loses_nothing_and_short_slices_draw_nothing() {
        let mut numbers: Vec<u32> = (0..1000).collect();
        engine().shuffle(&mut numbers);
        assert!(!numbers.is_sorted());
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..1000));
        shuffle(&mut script(&[]), &mut [] as &mut [u8]);
        shuffle(&mut script(&[]), &mut [1]);
    }

    #[test]
    fn a_choice_is_any_element_or_none() {
        let rng = engine();
        assert_eq!(choose(&mut script(&[]), &[] as &[u8]), None);
        let mut counts = [0; 5];
        for _ in 0..5000 {
            counts[*rng.choose(&[0, 1, 2, 3, 4usize]).unwrap()] += 1;
        }
        assert!(chi_square(&counts) < chi_square_limit(5), "{counts:?}");
    }

    #[test]
    fn all_generators_have_the_same_methods_beside_those_of_rand() {
        use crate::LocalRng;
        use rand::RngExt as _;
        macro_rules! assert_methods {
        ($($rng:expr),*) => {$(
            let mut rng = $rng;
            let _ = (rng.u16(), rng.u32(), rng.u64(), rng.bool());
            assert!((0.0..1.0).contains(&rng.f64()));
            assert!(rng.below(3) < 3 && (1..=6).contains(&rng.range(1..=6)));
            rng.shuffle(&mut [1, 2, 3]);
            assert!(rng.choose(&[1, 2]).is_some());
            let _: u16 = rng.random();
            assert!(rng.random_range(1..=6) < 7);
            let _: bool = rng.random_bool(0.5);
        )*};
    }
        let engine = engine();
        assert_methods!(engine.rng(), LocalRng::default(), engine, crate::rng());
        assert!(crate::below(3) < 3 && (1..=6).contains(&crate::range(1..=6)));
    }
}
