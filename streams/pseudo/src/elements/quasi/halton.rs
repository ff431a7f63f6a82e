//! Halton's sequence.

use super::{ElementError, check_dimensions, check_points};
use crate::elements::arrays::{Elements, Kind};
use crate::elements::words::Words;

/// The largest number below 1.
const BELOW_1: f64 = 1.0 - f64::EPSILON / 2.0;

/// Halton's sequence in up to 256 dimensions: the digits of i in the base of a prime, behind the point and in the other
/// order, as in SciPy.
///
/// Point i depends on i alone and, if it is scrambled, on the name of the [`Elements`]. With scrambling it takes up to
/// 3 MB.
#[derive(Clone)]
pub struct Halton {
    axes: Vec<Axis>,
}

#[derive(Clone)]
struct Axis {
    base: u64,
    digits: usize,
    /// The new digit of each digit: `base` numbers for each place. Empty without scrambling.
    permutations: Vec<u16>,
}

impl Halton {
    /// The sequence without scrambling: point 0 is 0 in all dimensions.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `dimensions` is not from 1 to 256.
    pub fn plain(dimensions: usize) -> Result<Self, ElementError> {
        check_dimensions(dimensions)?;
        let is_prime = |n: &u64| {
            (2..*n)
                .take_while(|d| d * d <= *n)
                .all(|d| !n.is_multiple_of(d))
        };
        let axes = (2..).filter(is_prime).take(dimensions).map(Axis::new);
        Ok(Self {
            axes: axes.collect(),
        })
    }

    /// Fills `out` with points from point `first` on, one after the other.
    ///
    /// # Errors
    ///
    /// [`ElementError::PastTheEnd`] if the last point is 2^64 or above, [`ElementError::Parameter`] if `out` holds a part of
    /// a point.
    pub fn fill(&self, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        check_points(self.axes.len(), first, out)?;
        for (point, index) in out.chunks_mut(self.axes.len()).zip(first..=u64::MAX) {
            for (place, axis) in point.iter_mut().zip(&self.axes) {
                *place = axis.at(index);
            }
        }
        Ok(())
    }
}

impl Axis {
    fn new(base: u64) -> Self {
        // As many digits as make a difference beside 1.
        let mut digits = 0;
        let mut step = 1.0 / base as f64;
        while 1.0 - step < 1.0 {
            digits += 1;
            step /= base as f64;
        }
        Self {
            base,
            digits,
            permutations: Vec::new(),
        }
    }

    fn at(&self, index: u64) -> f64 {
        let base = self.base as f64;
        let (mut rest, mut sum, mut step) = (index, 0.0, 1.0 / base);
        if self.permutations.is_empty() {
            for _ in 0..self.digits {
                if rest == 0 {
                    break;
                }
                sum += (rest % self.base) as f64 * step;
                rest /= self.base;
                step /= base;
            }
        } else {
            for permutation in self.permutations.chunks(self.base as usize) {
                sum += f64::from(permutation[(rest % self.base) as usize]) * step;
                rest /= self.base;
                step /= base;
            }
        }
        // All digits may be the largest one, and round up.
        if sum < 1.0 { sum } else { BELOW_1 }
    }
}

impl Elements {
    /// Halton's sequence, scrambled by the name of these arrays: each digit by a random permutation (A. B. Owen, "A
    /// randomized Halton algorithm in R", 2017).
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `dimensions` is not from 1 to 256.
    pub fn halton(&self, dimensions: usize) -> Result<Halton, ElementError> {
        let mut halton = Halton::plain(dimensions)?;
        for (axis, dimension) in halton.axes.iter_mut().zip(0u64..) {
            for digit in 0..axis.digits as u64 {
                let mut words = Words::new(&self.blocks, Kind::Halton, dimension << 8 | digit);
                let start = axis.permutations.len();
                // At most 1619 numbers, the 256th prime.
                axis.permutations.extend(0..axis.base as u16);
                let permutation = &mut axis.permutations[start..];
                for place in 1..permutation.len() {
                    permutation.swap(place, words.next_below(place as u64 + 1) as usize);
                }
            }
        }
        Ok(halton)
    }
}

impl core::fmt::Debug for Halton {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Halton")
            .field("dimensions", &self.axes.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;
    use crate::Algorithm;

    /// Of base^2 points one lies in each of as many parts.
    #[test]
    fn points_are_as_even_with_scrambling_as_without() {
        let elements = Elements::new(Algorithm::ChaCha8, 7, &[1]).unwrap();
        for halton in [Halton::plain(256).unwrap(), elements.halton(256).unwrap()] {
            for dimension in [0, 1, 5, 255] {
                let axis = &halton.axes[dimension];
                let parts = axis.base * axis.base;
                for first in [0, parts, parts << 20] {
                    let mut seen = vec![false; parts as usize];
                    for index in first..first + parts {
                        // A number may be rounded to below its part.
                        let part = (axis.at(index) * parts as f64 + 1e-6) as usize;
                        assert!(!std::mem::replace(&mut seen[part], true));
                    }
                }
            }
        }
    }

    #[test]
    fn any_point_is_reached_at_once_also_the_last() {
        let halton = Elements::new(Algorithm::Aes256Ctr, 7, &[])
            .unwrap()
            .halton(5)
            .unwrap();
        let (mut points, mut one) = ([0.0; 5 * 100], [0.0; 5]);
        for first in [0, 77, 1 << 63, u64::MAX - 99] {
            halton.fill(first, &mut points).unwrap();
            assert!(points.iter().all(|x| (0.0..1.0).contains(x)));
            halton.fill(first + 99, &mut one).unwrap();
            assert_eq!(one, points[495..]);
        }
        assert_eq!(
            halton.fill(u64::MAX - 98, &mut points),
            Err(ElementError::PastTheEnd)
        );
        assert!(Halton::plain(0).is_err() && Halton::plain(257).is_err());
    }
}
