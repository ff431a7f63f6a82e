//! Integers, fractions and choices from a generator: one algorithm for each, and the methods of every generator that
//! call it.

mod shuffle;

use crate::ids::{Text, base64url_digit};
use core::ops::{Bound, RangeBounds};
use rand_core::Rng;
pub use shuffle::shuffle;
use std::collections::HashSet;
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

/// Floyd's method (Bentley and Floyd, "Programming pearls: a sample of brilliance", Communications of the ACM, 1987), and then
/// a shuffle: the memory is that of the chosen elements, however long the slice is.
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
        pub fn alphanumeric<const N: usize>($($receiver)*) -> $crate::ids::Text<N> {
            $crate::numbers::alphanumeric($rng)
        }
    };
}

pub use numbers;

#[cfg(test)]
mod tests;
