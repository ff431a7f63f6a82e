//! Distributions with parameters: element i depends on the name of the array, the distribution and i alone, even where
//! numbers are rejected.
//!
//! ```text
//! table        every distribution: names, parameters, bounds, types, rows
//! continuous   uniform, normal and exponential with a scale; log-normal, Weibull, Cauchy; gamma, chi-square, beta,
//!              Student's t; normal numbers between two bounds
//! counts       geometric, binomial, Poisson; indices with weights
//! rows         k of n numbers, orders of n numbers; Dirichlet, multinomial, multivariate normal, points on a sphere
//! ```
//!
//! Each is a function of the words of one element. An element of a row of k numbers has the index k row + column.
//! Elements of the same distribution with other parameters come from the same words, and are related: take another path.

mod continuous;
mod counts;
mod rows;
pub mod table;

pub use continuous::{Beta, Cauchy, Gamma, LogNormal, Scaled, StudentT, TruncatedNormal, Weibull};
pub use counts::{Binomial, Choice, Geometric, Poisson};
pub use rows::{Dirichlet, Multinomial, MultivariateNormal, Sphere, Subsets};

use super::arrays::{ElementError, Elements};

/// A distribution that arrays are made of, by [`Elements::draw`].
pub trait Distribution: private::Sealed {}

impl<D: private::Sealed + ?Sized> Distribution for D {}

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
    pub fn draw<D: Distribution + ?Sized>(
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
        // Past this index some number of the row would have no index.
        let index = first.checked_mul(width as u64);
        let index = index.ok_or(ElementError::PastTheEnd)?;
        distribution.fill(self, index, out)
    }
}

#[cfg(test)]
mod tests;
