//! Points that fill a cube more evenly than random ones, for integrals.
//!
//! ```text
//! direction_numbers --> sobol
//!                       halton
//! ```

mod direction_numbers;
mod halton;
mod sobol;

pub use halton::Halton;
pub use sobol::Sobol;

use super::arrays::{ElementError, check_range};

/// The most dimensions of a sequence.
pub(super) const MAX_DIMENSIONS: usize = 256;

fn check_dimensions(dimensions: usize) -> Result<(), ElementError> {
    match dimensions {
        1..=MAX_DIMENSIONS => Ok(()),
        _ => Err(ElementError::Parameter("dimensions is not from 1 to 256")),
    }
}

/// Checks that `out` holds whole points, and that there are so many from `first` on.
fn check_points(dimensions: usize, first: u64, out: &[f64]) -> Result<(), ElementError> {
    if !out.len().is_multiple_of(dimensions) {
        return Err(ElementError::Parameter("out does not hold whole rows"));
    }
    check_range(first, out.len() / dimensions)
}
