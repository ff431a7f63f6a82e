//! Random orders: a shuffle of a slice, and a permutation whose elements are computed one by one.

use core::fmt;

use wellspring_cipher::{SimdTask, Width};

use super::arrays::{ElementError, Elements, Kind, Words, check_range};
use crate::splitmix64;

/// Rounds of a [`Permutation`].
const ROUNDS: usize = 12;

/// The fewest bits that are permuted: in a smaller set the rounds have too few inputs to choose from.
const MIN_BITS: u32 = 10;

impl Elements {
    /// Brings the items into a random order; all orders have the same probability.
    ///
    /// This is the shuffle of Fisher and Yates: item i, from the second on, changes places with one of
    /// the items 0 to i. The order depends on the name and the number of items.
    pub fn shuffle<T>(&self, items: &mut [T]) {
        self.shuffle_with(items.len(), |i, j| items.swap(i, j));
    }

    /// The exchanges of [`shuffle`](Self::shuffle), for items that are in no slice: `exchange` gets each place i from 0 to
    /// `length` - 1 in turn, and a place from 0 to i that it changes places with.
    ///
    /// ```
    /// use wellspring_pseudo::{Algorithm, Elements};
    ///
    /// let (mut names, mut ages) = (["Ada", "Emmy", "Sofia"], [36, 53, 41]);
    /// Elements::new(Algorithm::ChaCha8, 2026, &[])?.shuffle_with(3, |i, j| {
    ///     names.swap(i, j);
    ///     ages.swap(i, j);
    /// });
    /// let place = names.iter().position(|name| *name == "Emmy");
    /// assert_eq!(place.map(|place| ages[place]), Some(53));
    /// # Ok::<(), wellspring_pseudo::ElementError>(())
    /// ```
    pub fn shuffle_with(&self, length: usize, mut exchange: impl FnMut(usize, usize)) {
        let mut swaps = [(); 256];
        let mut index = 0;
        while index < length {
            let count = swaps.len().min(length - index);
            let made = self.fill_from_words(
                Kind::Shuffle.row(),
                index as u64,
                &mut swaps[..count],
                |start, words, _| {
                    for (i, word) in (start..).zip(words) {
                        let word = u64::from_le_bytes(*word);
                        exchange(i as usize, self.shuffle_choice(word, i, i) as usize);
                    }
                },
            );
            made.expect("a length is below 2^64");
            index += count;
        }
    }

    /// A permutation of the numbers 0 to `length` - 1 whose elements are computed one by one.
    ///
    /// Like every array here it can be cut into pieces, which [`shuffle`](Self::shuffle) cannot.
    #[must_use]
    pub fn permutation(&self, length: u64) -> Permutation {
        let largest = length.saturating_sub(1);
        let bits = (u64::BITS - largest.leading_zeros()).max(MIN_BITS);
        let mut words = Words::new(&self.blocks, Kind::Permutation, length);
        Permutation {
            length,
            left_bits: bits / 2,
            right_bits: bits - bits / 2,
            keys: [(); ROUNDS].map(|()| words.next_u64()),
            width: self.width,
        }
    }
}

/// A permutation of the numbers 0 to n - 1; it takes 120 bytes.
///
/// The number at place i is computed from i alone, in about 12 multiplications each of a Feistel
/// network over the next power of two, repeated while the result is n or above ("cycle walking", Black
/// & Rogaway, "Ciphers with arbitrary finite domains", 2002). Its 12 round keys of 64 bits choose among
/// at most 2^768 orders, so that from n = 171 on most orders never come. Single places and
/// pairs of places have the statistics of a random order. [`Elements::shuffle`] gives all orders the
/// same probability.
///
/// ```
/// use wellspring_pseudo::{Algorithm, Elements};
///
/// let elements = Elements::new(Algorithm::ChaCha8, 2026, &[])?;
/// let permutation = elements.permutation(1_000_000_000_000);
/// let mut part = [0; 3];
/// permutation.fill(500, &mut part)?;
/// assert_eq!(permutation.at(502), Some(part[2]));
/// # Ok::<(), wellspring_pseudo::ElementError>(())
/// ```
#[derive(Clone)]
pub struct Permutation {
    length: u64,
    left_bits: u32,
    right_bits: u32,
    keys: [u64; ROUNDS],
    width: Width,
}

impl Permutation {
    /// The number at place `index`; `None` if there is no such place.
    #[must_use]
    pub fn at(&self, index: u64) -> Option<u64> {
        (index < self.length).then(|| self.walk(index))
    }

    /// Fills `out` with the numbers from place `first` on.
    ///
    /// # Errors
    ///
    /// [`ElementError::PastTheEnd`] if there are fewer places.
    pub fn fill(&self, first: u64, out: &mut [u64]) -> Result<(), ElementError> {
        check_range(first, out.len())?;
        let end = u128::from(first) + out.len() as u128;
        if end > u128::from(self.length) {
            return Err(ElementError::PastTheEnd);
        }
        for (number, chunk) in out.chunks_mut(PERMUTED_AT_A_TIME).enumerate() {
            let first = first + (number * PERMUTED_AT_A_TIME) as u64;
            self.width.run(Walk {
                permutation: self,
                first,
                out: chunk,
            });
        }
        Ok(())
    }

    /// How many numbers are permuted.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    fn walk(&self, index: u64) -> u64 {
        let mut number = self.permute(index);
        while number >= self.length {
            number = self.permute(number);
        }
        number
    }

    /// A permutation of all numbers of `left_bits` + `right_bits` bits.
    #[inline(always)]
    fn permute(&self, number: u64) -> u64 {
        let (left_mask, right_mask) = ((1 << self.left_bits) - 1, (1 << self.right_bits) - 1);
        let (mut left, mut right) = (number >> self.right_bits, number & right_mask);
        for [key, next_key] in self.keys.as_chunks().0 {
            left ^= splitmix64::output(right ^ key) & left_mask;
            right ^= splitmix64::output(left ^ next_key) & right_mask;
        }
        left << self.right_bits | right
    }
}

/// Numbers that are permuted at a time, so that the processor works on several: the 24 products of one wait for each other.
const PERMUTED_AT_A_TIME: usize = 256;

/// The numbers of a permutation from place `first` on.
struct Walk<'a> {
    permutation: &'a Permutation,
    first: u64,
    out: &'a mut [u64],
}

impl SimdTask for Walk<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            permutation,
            first,
            out,
        } = self;
        for (place, index) in out.iter_mut().zip(first..) {
            *place = permutation.permute(index);
        }
        // The places whose numbers have to go on, and these numbers side by side.
        let (mut places, mut numbers) = ([0u16; PERMUTED_AT_A_TIME], [0; PERMUTED_AT_A_TIME]);
        let mut count = 0;
        for (place, number) in out.iter().enumerate() {
            places[count] = place as u16;
            numbers[count] = *number;
            count += usize::from(*number >= permutation.length);
        }
        while count > 0 {
            for number in &mut numbers[..count] {
                *number = permutation.permute(*number);
            }
            let mut left = 0;
            for i in 0..count {
                let (place, number) = (places[i], numbers[i]);
                if number < permutation.length {
                    out[usize::from(place)] = number;
                }
                places[left] = place;
                numbers[left] = number;
                left += usize::from(number >= permutation.length);
            }
            count = left;
        }
    }
}

impl fmt::Debug for Permutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permutation")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::vec;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::Algorithm;

    fn elements(path: u32) -> Elements {
        Elements::new(Algorithm::ChaCha8, 7, &[path]).unwrap()
    }

    fn permuted(path: u32, length: u64) -> Vec<u64> {
        let mut out = vec![0; length as usize];
        elements(path)
            .permutation(length)
            .fill(0, &mut out)
            .unwrap();
        out
    }

    fn is_order(items: &[u64]) -> bool {
        let mut sorted = items.to_vec();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..items.len() as u64)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_number_comes_once(path in any::<u32>(), length in 0..6000u64) {
            prop_assert!(is_order(&permuted(path, length)));
            let mut items: Vec<u64> = (0..length).collect();
            elements(path).shuffle(&mut items);
            prop_assert!(is_order(&items));
        }

        #[test]
        fn places_of_large_permutations_differ_and_stay_inside(path in any::<u32>(), bits in 13..64u32) {
            let length = u64::MAX >> (64 - bits);
            let permutation = elements(path).permutation(length);
            let mut seen = std::collections::HashSet::new();
            for place in (0..50).chain(length - 50..length) {
                let number = permutation.at(place).unwrap();
                prop_assert!(number < length);
                prop_assert!(seen.insert(number));
            }
            prop_assert_eq!(permutation.at(length), None);
        }
    }

    #[test]
    fn exchanges_make_the_order_of_a_shuffle() {
        for length in [0, 1, 2, 256, 257, 2000] {
            let mut items: Vec<usize> = (0..length).collect();
            elements(3).shuffle(&mut items);
            let (mut exchanged, mut next) = ((0..length).collect::<Vec<_>>(), 0);
            elements(3).shuffle_with(length, |i, j| {
                assert!(i == next && j <= i);
                next += 1;
                exchanged.swap(i, j);
            });
            assert_eq!((exchanged, next), (items, length));
        }
    }

    /// Chi-square of 120 orders of 5 items over 12 000 paths: 119 on average, deviation 15.4.
    fn chi_square_of_orders(order: impl Fn(u32) -> Vec<u64>) -> f64 {
        let mut counts = HashMap::new();
        for path in 0..12_000 {
            *counts.entry(order(path)).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 120);
        counts
            .values()
            .map(|&count| (f64::from(count) - 100.0).powi(2) / 100.0)
            .sum()
    }

    #[test]
    fn all_orders_of_a_few_items_are_as_probable() {
        let shuffled = |path| {
            let mut items: Vec<u64> = (0..5).collect();
            elements(path).shuffle(&mut items);
            items
        };
        for chi_square in [
            chi_square_of_orders(shuffled),
            chi_square_of_orders(|path| permuted(path, 5)),
        ] {
            assert!((60.0..196.0).contains(&chi_square), "{chi_square}");
        }
    }

    #[test]
    fn numbers_move_to_any_place_and_neighbours_part() {
        // Over 4000 paths, the number at place 7 and the distance of the numbers at places 7 and 8, in
        // 16 cells each: 250 a cell.
        let mut cells = [[0u32; 16]; 2];
        for path in 0..4000 {
            let permutation = elements(path).permutation(1000);
            let [at_7, at_8] = [7, 8].map(|place| permutation.at(place).unwrap());
            cells[0][(at_7 * 16 / 1000) as usize] += 1;
            cells[1][((at_8 + 1000 - at_7 - 1) % 1000 * 16 / 999) as usize] += 1;
        }
        for cells in cells {
            let chi_square: f64 = cells
                .iter()
                .map(|&count| (f64::from(count) - 250.0).powi(2) / 250.0)
                .sum();
            assert!(chi_square < 45.0, "{chi_square} {cells:?}");
        }
    }

    #[test]
    fn a_permutation_ends_with_its_length() {
        let permutation = elements(1).permutation(10);
        assert_eq!(permutation.fill(8, &mut [0; 2]), Ok(()));
        assert_eq!(permutation.fill(10, &mut []), Ok(()));
        let past = Err(ElementError::PastTheEnd);
        assert_eq!(permutation.fill(9, &mut [0; 2]), past);
        assert_eq!(permutation.fill(u64::MAX, &mut [0; 2]), past);
        assert_eq!(elements(1).permutation(0).at(0), None);
        assert_eq!(elements(1).permutation(0).fill(0, &mut [0]), past);
        assert_eq!(permutation.length(), 10);
    }

    #[test]
    fn many_places_at_once_have_the_numbers_of_single_places() {
        for length in [
            1,
            5,
            255,
            256,
            257,
            1000,
            1025,
            3000,
            1 << 40,
            (1 << 40) + 1,
        ] {
            for &width in Width::ALL.iter().filter(|width| width.is_available()) {
                let permutation = elements(1).with_width(width).permutation(length);
                let first = length.saturating_sub(700);
                let mut out = vec![0; (length - first) as usize];
                permutation.fill(first, &mut out).unwrap();
                for (number, index) in out.into_iter().zip(first..) {
                    assert_eq!(permutation.at(index), Some(number), "{length} {width}");
                }
            }
        }
    }

    #[test]
    fn permutations_of_different_lengths_are_unrelated() {
        let (short, long) = (permuted(1, 4095), permuted(1, 4096));
        let same = short.iter().zip(&long).filter(|(a, b)| a == b).count();
        assert!(same < 12, "{same} of 4095 numbers are at the same place");
    }
}
