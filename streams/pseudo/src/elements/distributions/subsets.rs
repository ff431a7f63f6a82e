//! Samples without replacement, as rows.

use std::collections::BTreeMap;

use super::private::Sealed;
use super::{ElementError, Elements};
use crate::elements::arrays::Kind;

/// Up to so many numbers stand in a table, of 64 KiB; of more a map holds those that have moved.
const TABLE_LENGTH: u64 = 1 << 13;

/// Rows of k of the numbers 0 to n - 1, in random order: all rows have the same probability. With k = n they are orders of n
/// numbers.
///
/// A longer row begins with the numbers of a shorter row only if the whole array is one row. Take
/// [`Elements::permutation`] to compute parts of one order.
#[derive(Clone, Copy, Debug)]
pub struct Subsets {
    n: u64,
    k: usize,
}

impl Subsets {
    /// Rows of `k` of `n` numbers.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `k` is 0 or above `n`, or `n` is 2^63 or above.
    pub fn new(n: u64, k: usize) -> Result<Self, ElementError> {
        if k == 0 || k as u64 > n {
            return Err(ElementError::Parameter("k is not from 1 to n"));
        }
        if n >= 1 << 63 {
            return Err(ElementError::Parameter("n is 2^63 or above"));
        }
        Ok(Self { n, k })
    }

    /// The numbers 0 to n - 1 before a row: column j changes places with a number that is not chosen yet.
    fn numbers(&self) -> Numbers {
        if self.n <= TABLE_LENGTH {
            Numbers::Table((0..self.n).collect())
        } else {
            Numbers::Moved(BTreeMap::new())
        }
    }
}

/// The first steps of the shuffle of Fisher and Yates.
enum Numbers {
    Table(Vec<u64>),
    /// Each number that is not at its own place.
    Moved(BTreeMap<u64, u64>),
}

impl Numbers {
    fn begin_row(&mut self) {
        match self {
            Self::Table(numbers) => {
                for (number, index) in numbers.iter_mut().zip(0..) {
                    *number = index;
                }
            }
            Self::Moved(moved) => moved.clear(),
        }
    }

    /// The number at `place`, which gets that of `column`.
    fn take(&mut self, column: u64, place: u64) -> u64 {
        match self {
            Self::Table(numbers) => {
                numbers.swap(column as usize, place as usize);
                numbers[column as usize]
            }
            Self::Moved(moved) => {
                let left = moved.remove(&column).unwrap_or(column);
                if place == column {
                    return left;
                }
                moved.insert(place, left).unwrap_or(place)
            }
        }
    }
}

impl Sealed for Subsets {
    type Number = i64;

    fn width(&self) -> usize {
        self.k
    }

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let mut numbers = self.numbers();
        let mut column = 0;
        elements.fill_each::<8, _>(Kind::Subsets, first, out, |words| {
            if column == self.k as u64 {
                column = 0;
                numbers.begin_row();
            }
            let number = numbers.take(column, column + words.next_below(self.n - column));
            column += 1;
            number as i64
        })
    }
}
