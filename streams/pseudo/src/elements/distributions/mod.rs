//! Distributions with parameters: element i depends on the name of the array, the distribution and i alone, even where
//! numbers are rejected.
//!
//! ```text
//! entry        every distribution: names, parameters, bounds, types, rows
//! continuous   uniform, normal and exponential with a scale; log-normal, Weibull, Cauchy; gamma, chi-square, beta,
//!              Student's t; normal numbers between two bounds
//! transformed  functions of a few of these: Laplace, Gumbel, logistic, Rayleigh, Pareto, power, triangular, von Mises,
//!              Wald; F, noncentral chi-square and F
//! counts       geometric, binomial, Poisson; indices with weights
//! urns         hypergeometric, negative binomial, logarithmic series, Zipf
//! rows         k of n numbers, orders of n numbers; Dirichlet, multinomial, multivariate normal, points on a sphere,
//!              colours of balls
//! table        the entries, with the functions that make each
//! ```
//!
//! Each is a function of the words of one element. An element of a row of k numbers has the index k row + column.
//! Elements of the same distribution with other parameters come from the same words, and are related: take another path.

mod continuous;
mod counts;
pub(super) mod entry;
mod rows;
pub mod table;
mod transformed;
mod urns;

pub use continuous::{Beta, Cauchy, Gamma, LogNormal, Scaled, StudentT, TruncatedNormal, Weibull};
pub use counts::{Binomial, Choice, Geometric, Poisson};
pub use rows::{
    Dirichlet, Multinomial, MultivariateHypergeometric, MultivariateNormal, Sphere, Subsets,
};
pub use transformed::{
    F, Gumbel, Laplace, Logistic, NoncentralChiSquare, NoncentralF, Pareto, Power, Rayleigh,
    Triangular, VonMises, Wald,
};
pub use urns::{Hypergeometric, LogSeries, NegativeBinomial, Zipf};

use alloc::vec::Vec;

use super::arrays::{ElementError, Elements, check_range};

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

    /// A distribution of single numbers whose parameters may differ from element to element.
    pub(crate) trait Each: Sealed + Sized {
        /// Fills `out`, from index `first` on. `next` gives the distribution of each element in turn. A number is the same as
        /// in [`Sealed::fill`] of its distribution.
        fn fill_each(
            elements: &Elements,
            first: u64,
            out: &mut [Self::Number],
            next: impl FnMut() -> Self,
        ) -> Result<(), ElementError>;
    }
}

/// A distribution with a function `draw`, which makes a number from the words of its element: the type, its numbers, its kind,
/// and the bytes of the head.
macro_rules! drawn {
    ($type:ident, $number:ty, $kind:ident, $head_bytes:literal) => {
        impl Sealed for $type {
            type Number = $number;

            fn fill(
                &self,
                elements: &Elements,
                first: u64,
                out: &mut [$number],
            ) -> Result<(), ElementError> {
                let own = *self;
                elements
                    .fill_each::<$head_bytes, _>(Kind::$kind, first, out, |words| own.draw(words))
            }
        }

        drawn!(each $type, $number, $kind, $head_bytes);
    };
    (each $type:ident, $number:ty, $kind:ident, $head_bytes:literal) => {
        impl Each for $type {
            fn fill_each(
                elements: &Elements,
                first: u64,
                out: &mut [$number],
                next: impl FnMut() -> Self,
            ) -> Result<(), ElementError> {
                super::in_groups(first, out, next, |first, out, group| {
                    let mut group = group.iter();
                    elements.fill_each::<$head_bytes, _>(Kind::$kind, first, out, |words| {
                        group.next().map_or(<$number>::default(), |own| own.draw(words))
                    })
                })
            }
        }
    };
}

use drawn;

/// Elements whose distributions are made at a time: the processor works on several, since none waits for a number.
const GROUP: usize = 256;

/// Gives `fill` pieces of `out`, the index of the first element of each, and the distributions of its elements.
fn in_groups<D, T>(
    first: u64,
    out: &mut [T],
    mut next: impl FnMut() -> D,
    mut fill: impl FnMut(u64, &mut [T], &mut [D]) -> Result<(), ElementError>,
) -> Result<(), ElementError> {
    check_range(first, out.len())?;
    let mut group = Vec::with_capacity(GROUP.min(out.len()));
    for (number, out) in out.chunks_mut(GROUP).enumerate() {
        group.clear();
        group.extend(out.iter().map(|_| next()));
        fill(first + (number * GROUP) as u64, out, &mut group)?;
    }
    Ok(())
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
