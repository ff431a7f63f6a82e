//! Random orders: a shuffle of a slice, and a permutation whose elements are computed one by one.

use super::retries::Retries;
use super::{ElementError, Elements, Kind, check_range};
use crate::splitmix64;

/// Rounds of a [`Permutation`].
const ROUNDS: usize = 12;

/// The fewest bits that are permuted: in a smaller set the rounds have too few inputs to choose from.
const MIN_BITS: u32 = 12;

impl Elements {
    /// Brings the items into a random order; all orders have the same probability.
    ///
    /// This is the shuffle of Fisher and Yates: item i, from the second on, changes places with one of
    /// the items 0 to i. The order depends on the name and the number of items.
    pub fn shuffle<T>(&self, items: &mut [T]) {
        let mut swaps = [(); 256];
        let mut index = 0;
        while index < items.len() {
            let count = swaps.len().min(items.len() - index);
            let made = self.fill_from_words(
                Kind::Shuffle.row(),
                index as u64,
                &mut swaps[..count],
                |start, words, _| {
                    for (i, word) in (start..).zip(words) {
                        let word = u64::from_le_bytes(*word);
                        items.swap(i as usize, self.shuffle_choice(word, i, i) as usize);
                    }
                },
            );
            made.expect("a slice has fewer than 2^64 items");
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
        let mut retries = Retries::new(&self.blocks, Kind::Permutation, length);
        Permutation {
            length,
            left_bits: bits / 2,
            right_bits: bits - bits / 2,
            keys: [(); ROUNDS].map(|()| retries.next_u64()),
        }
    }
}

/// A permutation of the numbers 0 to n - 1; it takes 112 bytes.
///
/// The number at place i is computed from i alone, in about 12 multiplications each of a Feistel
/// network over the next power of two, repeated while the result is n or above ("cycle walking", Black
/// & Rogaway, "Ciphers with arbitrary finite domains", 2002). Its 12 round keys of 64 bits choose among
/// at most 2^768 orders, so that from n = 171 on most orders never come. Statistics of single
/// places and pairs of places are those of a random order; for all orders with the same probability
/// take [`Elements::shuffle`].
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
#[derive(Clone, Debug)]
pub struct Permutation {
    length: u64,
    left_bits: u32,
    right_bits: u32,
    keys: [u64; ROUNDS],
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
        for (place, index) in out.iter_mut().zip(first..) {
            *place = self.walk(index);
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
    #[inline]
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
