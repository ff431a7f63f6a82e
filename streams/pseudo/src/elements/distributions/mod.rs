//! Distributions with parameters: element i depends on the name of the array, the distribution and i alone, also where
//! numbers are rejected.
//!
//! ```text
//! continuous   log-normal, Weibull, Cauchy
//! gamma        gamma, chi-square, beta, Student's t
//! truncated    normal numbers between two bounds
//! counts       geometric, binomial, Poisson
//! choice       indices with weights
//! subsets      rows: k of n numbers, orders of n numbers
//! vectors      rows: Dirichlet, multinomial, multivariate normal, points on a sphere
//! ```
//!
//! Each is a function of the words of one element. An element of a row of k numbers has the index k row + column.
//! Elements of the same distribution with other parameters come from the same words, and are related: take another path.

mod choice;
mod continuous;
mod counts;
mod gamma;
mod subsets;
mod truncated;
mod vectors;

pub use choice::Choice;
pub use continuous::{Cauchy, LogNormal, Weibull};
pub use counts::{Binomial, Geometric, Poisson};
pub use gamma::{Beta, Gamma, StudentT};
pub use subsets::Subsets;
pub use truncated::TruncatedNormal;
pub use vectors::{Dirichlet, Multinomial, MultivariateNormal, Sphere};

use super::arrays::{ElementError, Elements};

/// A distribution that arrays are made of, by [`Elements::draw`].
pub trait Distribution: private::Sealed {}

impl<D: private::Sealed> Distribution for D {}

mod private {
    use super::{ElementError, Elements};

    /// Private, so that other crates cannot implement it.
    pub trait Sealed {
        /// The type of an array's numbers: `f64`, or `i64` for counts and indices.
        type Number: Copy;

        /// The numbers of one element.
        fn width(&self) -> usize {
            1
        }

        /// Fills whole rows, from row `first` on.
        fn fill(
            &self,
            elements: &Elements,
            first: u64,
            out: &mut [Self::Number],
        ) -> Result<(), ElementError>;
    }
}

impl Elements {
    /// Fills `out` with elements of a distribution, from index `first` on. Where an element is a row of numbers, `out` holds
    /// whole rows, and `first` counts rows.
    ///
    /// ```
    /// use wellspring_pseudo::distributions::{Dirichlet, Gamma};
    /// use wellspring_pseudo::{Algorithm, Elements};
    ///
    /// let elements = Elements::new(Algorithm::ChaCha8, 2026, &[])?;
    /// let mut gammas = [0.0; 100];
    /// elements.draw(&Gamma::new(2.5, 1.0)?, 0, &mut gammas)?;
    ///
    /// let mut rows = [0.0; 3 * 100];
    /// elements.draw(&Dirichlet::new(&[1.0, 2.0, 0.5])?, 0, &mut rows)?;
    /// let mut row_70 = [0.0; 3];
    /// elements.draw(&Dirichlet::new(&[1.0, 2.0, 0.5])?, 70, &mut row_70)?;
    /// assert_eq!(row_70, rows[210..213]);
    /// # Ok::<(), wellspring_pseudo::ElementError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ElementError::PastTheEnd`] if the last index is 2^64 or above, [`ElementError::Parameter`] if `out` holds a part of
    /// a row.
    pub fn draw<D: Distribution>(
        &self,
        distribution: &D,
        first: u64,
        out: &mut [D::Number],
    ) -> Result<(), ElementError> {
        let width = distribution.width();
        if width == 1 {
            return distribution.fill(self, first, out);
        }
        if width == 0 || !out.len().is_multiple_of(width) {
            return Err(ElementError::Parameter("out does not hold whole rows"));
        }
        // Past this index a number of the row would have no index of its own.
        let index = first.checked_mul(width as u64);
        let index = index.ok_or(ElementError::PastTheEnd)?;
        distribution.fill(self, index, out)
    }
}

/// `value` if it is what is wanted of it.
fn checked(value: f64, is_right: bool, reason: &'static str) -> Result<f64, ElementError> {
    if is_right {
        Ok(value)
    } else {
        Err(ElementError::Parameter(reason))
    }
}

#[cfg(test)]
mod tests;
