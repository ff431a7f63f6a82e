//! Indices with weights.

use super::private::Sealed;
use super::{ElementError, Elements};
use crate::elements::arrays::Kind;

/// Indices of weights: each comes in proportion to its weight, whatever their number in the same time (A. J. Walker, 1977;
/// M. D. Vose, "A linear algorithm for generating random numbers with a given distribution", 1991).
///
/// A probability is right to within 2^-51 of the mean probability. An index with the weight 0 never comes.
#[derive(Clone, Debug)]
pub struct Choice {
    columns: Vec<Column>,
}

/// Each column stands for 1 of n indices as probable: it has an index of its own, and another one from `share` on.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// Of 2^64.
    share: u64,
    other: u64,
}

impl Choice {
    /// The indices of these weights, which need not sum up to 1.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if a weight is below 0 or not finite, or their sum is not above 0 or not finite.
    pub fn new(weights: &[f64]) -> Result<Self, ElementError> {
        let is_weight = |weight: &f64| (0.0..f64::INFINITY).contains(weight);
        if !weights.iter().all(is_weight) {
            return Err(ElementError::Parameter(
                "probabilities are not non-negative",
            ));
        }
        let sum: f64 = weights.iter().fold(0.0, |sum, weight| sum + weight);
        if !(f64::MIN_POSITIVE..f64::INFINITY).contains(&sum) {
            return Err(ElementError::Parameter("probabilities do not have a sum"));
        }
        let count = weights.len() as f64;
        let mut parts: Vec<f64> = weights.iter().map(|weight| weight / sum * count).collect();
        // Columns that are not full, and those that have more than they need.
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for (index, part) in parts.iter().enumerate() {
            if *part < 1.0 { &mut short } else { &mut long }.push(index);
        }
        let full = |index: usize| Column {
            share: u64::MAX,
            other: index as u64,
        };
        let mut columns: Vec<Column> = (0..weights.len()).map(full).collect();
        while let (Some(&below), Some(&above)) = (short.last(), long.last()) {
            short.pop();
            columns[below] = Column {
                share: (parts[below] * 18_446_744_073_709_551_616.0) as u64,
                other: above as u64,
            };
            parts[above] -= 1.0 - parts[below];
            if parts[above] < 1.0 {
                long.pop();
                short.push(above);
            }
        }
        // What is left is full but for roundings. A weight of 0 is not among it, unless roundings used up all others.
        let heaviest = (0..weights.len()).fold(0, |best, index| {
            if weights[index] > weights[best] {
                index
            } else {
                best
            }
        });
        for index in short {
            if weights[index] == 0.0 {
                columns[index] = Column {
                    share: 0,
                    other: heaviest as u64,
                };
            }
        }
        Ok(Self { columns })
    }
}

impl Sealed for Choice {
    type Number = i64;

    fn fill(&self, elements: &Elements, first: u64, out: &mut [i64]) -> Result<(), ElementError> {
        let columns = &self.columns[..];
        elements.fill_from_words(Kind::Choice.row(), first, out, |_, words, out| {
            for (place, word) in out.iter_mut().zip(words) {
                // The upper half names a column, and the lower one a place in it.
                let product = u128::from(u64::from_le_bytes(*word)) * columns.len() as u128;
                let (index, place_in_column) = ((product >> 64) as u64, product as u64);
                let column = columns[index as usize];
                let is_own = place_in_column < column.share;
                *place = if is_own { index } else { column.other } as i64;
            }
        })
    }
}
