//! Points that fill a cube more evenly than random ones, for integrals: the sequences of Sobol and of Halton.

mod direction_numbers;

use super::arrays::{ElementError, Elements, Kind, Words, check_range, from_u64};
use super::distributions::entry::{HALTON, SOBOL};
use alloc::vec;
use alloc::vec::Vec;
use direction_numbers::{INITIAL, POLYNOMIALS};

/// Checks that `out` holds whole points, and that this many points exist from `first` on.
fn check_points(dimensions: usize, first: u64, out: &[f64]) -> Result<(), ElementError> {
    if !out.len().is_multiple_of(dimensions) {
        return Err(ElementError::Parameter("out does not hold whole rows"));
    }
    check_range(first, out.len() / dimensions)
}

const BITS: usize = u64::BITS as usize;

/// Sobol's sequence in up to 256 dimensions, with the direction numbers of S. Joe and F. Y. Kuo ("Constructing Sobol
/// sequences with better two-dimensional projections", 2008), in the order of the Gray code, as in SciPy.
///
/// Point i depends on i alone and, if it is scrambled, on the name of the [`Elements`]. A number is a multiple of 2^-53 below
/// 1. It takes 512 bytes for each dimension.
///
/// ```
/// use wellspring_pseudo::{Algorithm, Elements, Sobol};
///
/// let sobol = Elements::new(Algorithm::ChaCha8, 2026, &[])?.sobol(3)?;
/// let mut points = [0.0; 3 * 1024];
/// sobol.fill(0, &mut points)?;
/// let mut point_700 = [0.0; 3];
/// sobol.fill(700, &mut point_700)?;
/// assert_eq!(point_700, points[2100..2103]);
/// # Ok::<(), wellspring_pseudo::ElementError>(())
/// ```
#[derive(Clone)]
pub struct Sobol {
    dimensions: usize,
    /// The bits that bit b of the Gray code changes in each dimension: all dimensions of bit 0 first.
    directions: Vec<u64>,
    shifts: Vec<u64>,
}

impl Sobol {
    /// The sequence without scrambling: point 0 is 0 in all dimensions.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `dimensions` is not from 1 to 256.
    pub fn plain(dimensions: usize) -> Result<Self, ElementError> {
        SOBOL.check(&[dimensions as f64])?;
        let mut directions = vec![0; BITS * dimensions];
        let mut initial = &INITIAL[..];
        for dimension in 0..dimensions {
            let polynomial = POLYNOMIALS[dimension];
            let degree = polynomial.ilog2() as usize;
            let (given, rest) = initial.split_at(degree.max(1));
            initial = rest;
            for (bit, direction) in all_directions(polynomial, given).into_iter().enumerate() {
                directions[bit * dimensions + dimension] = direction;
            }
        }
        Ok(Self {
            dimensions,
            directions,
            shifts: vec![0; dimensions],
        })
    }

    /// Fills `out` with points from point `first` on, one after the other.
    ///
    /// # Errors
    ///
    /// [`ElementError::PastTheEnd`] if the last point is 2^64 or above, [`ElementError::Parameter`] if `out` holds a part of
    /// a point.
    pub fn fill(&self, first: u64, out: &mut [f64]) -> Result<(), ElementError> {
        check_points(self.dimensions, first, out)?;
        let mut bits = self.shifts.clone();
        let gray = first ^ first >> 1;
        for bit in (0..BITS).filter(|bit| gray >> bit & 1 == 1) {
            self.change(&mut bits, bit);
        }
        for (point, index) in out.chunks_mut(self.dimensions).zip(first..=u64::MAX) {
            if index != first {
                self.change(&mut bits, index.trailing_zeros() as usize);
            }
            for (place, bits) in point.iter_mut().zip(&bits) {
                *place = from_u64(*bits);
            }
        }
        Ok(())
    }

    fn change(&self, bits: &mut [u64], bit: usize) {
        let directions = &self.directions[bit * self.dimensions..];
        for (bits, direction) in bits.iter_mut().zip(directions) {
            *bits ^= direction;
        }
    }
}

/// The direction numbers of one dimension, as fractions of 2^64. The first ones are `given`.
fn all_directions(polynomial: u32, given: &[u32]) -> [u64; BITS] {
    let degree = polynomial.ilog2() as usize;
    let mut directions = [0; BITS];
    for bit in 0..BITS {
        directions[bit] = if degree == 0 {
            1 << (BITS - 1 - bit)
        } else if bit < degree {
            u64::from(given[bit]) << (BITS - 1 - bit)
        } else {
            // The bits of the polynomial between its first and its last one say which earlier numbers are added.
            let last = directions[bit - degree];
            let taken = (1..degree).filter(|step| polynomial >> (degree - step) & 1 == 1);
            taken.fold(last ^ last >> degree, |sum, step| {
                sum ^ directions[bit - step]
            })
        };
    }
    directions
}

impl Elements {
    /// Sobol's sequence, scrambled by the name of these arrays: each dimension by a random lower triangular matrix and a
    /// random shift (J. Matousek, "On the L2-discrepancy for anchored boxes", 1998), so that each point is uniform in the
    /// cube, and any 2^k points from a multiple of 2^k on are as even as without.
    ///
    /// # Errors
    ///
    /// [`ElementError::Parameter`] if `dimensions` is not from 1 to 256.
    pub fn sobol(&self, dimensions: usize) -> Result<Sobol, ElementError> {
        let mut sobol = Sobol::plain(dimensions)?;
        for dimension in 0..dimensions {
            let mut words = Words::new(&self.blocks, Kind::Sobol, dimension as u64);
            // Row r of the matrix: 1 at bit r, counted from the uppermost, and any bits above.
            let rows = [(); BITS].map(|()| words.next_u64());
            for bit in 0..BITS {
                let direction = &mut sobol.directions[bit * dimensions + dimension];
                let scrambled = (0..BITS).fold(0, |sum, row| {
                    let mask = rows[row] & !(u64::MAX >> row) | 1 << (BITS - 1 - row);
                    sum << 1 | u64::from((*direction & mask).count_ones() & 1)
                });
                *direction = scrambled;
            }
            sobol.shifts[dimension] = words.next_u64();
        }
        Ok(sobol)
    }
}

impl core::fmt::Debug for Sobol {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sobol")
            .field("dimensions", &self.dimensions)
            .finish_non_exhaustive()
    }
}

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
        HALTON.check(&[dimensions as f64])?;
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

    /// In each dimension, and in each cut of dimensions 0 and 1 into 256 boxes, every box has one of 256 points.
    #[test]
    fn points_of_sobol_are_as_even_with_scrambling_as_without() {
        let elements = Elements::new(Algorithm::ChaCha8, 7, &[1]).unwrap();
        for sobol in [Sobol::plain(256).unwrap(), elements.sobol(256).unwrap()] {
            for first in [0, 256, 1 << 40] {
                let mut points = vec![0.0; 256 * 256];
                sobol.fill(first, &mut points).unwrap();
                let check = |boxes: &dyn Fn(&[f64]) -> f64| {
                    let mut seen = [false; 256];
                    for point in points.chunks(256) {
                        let place = boxes(point) as usize;
                        assert!(!std::mem::replace(&mut seen[place], true));
                    }
                };
                for dimension in 0..256 {
                    check(&|point| point[dimension] * 256.0);
                }
                for cut in 0..=8 {
                    let (wide, high) = (f64::from(1 << cut), f64::from(256 >> cut));
                    check(&|point| (point[0] * wide).floor() * high + (point[1] * high).floor());
                }
            }
        }
    }

    #[test]
    fn any_point_of_sobol_is_reached_at_once_also_the_last() {
        let sobol = Elements::new(Algorithm::Philox4x64, 7, &[])
            .unwrap()
            .sobol(5)
            .unwrap();
        let (mut points, mut one) = ([0.0; 5 * 100], [0.0; 5]);
        for first in [0, 77, 1 << 63, u64::MAX - 99] {
            sobol.fill(first, &mut points).unwrap();
            for (point, index) in points.chunks(5).zip(first..=u64::MAX) {
                sobol.fill(index, &mut one).unwrap();
                assert_eq!(one, point, "{index}");
            }
        }
        assert_eq!(
            sobol.fill(u64::MAX - 98, &mut points),
            Err(ElementError::PastTheEnd)
        );
        assert!(sobol.fill(0, &mut points[..7]).is_err());
        assert!(Sobol::plain(0).is_err() && Sobol::plain(257).is_err());
    }

    /// Each of base^2 equal parts has one of base^2 points.
    #[test]
    fn points_of_halton_are_as_even_with_scrambling_as_without() {
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
    fn any_point_of_halton_is_reached_at_once_also_the_last() {
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
