//! Arrays whose element i depends on the name of the array and on i alone.
//!
//! ```text
//! arrays --words--> uniform
//!                   integers
//!                   ziggurat       (math)                 normal and exponential
//!                   order                                 shuffle and permutation
//!                   distributions  (functions, ziggurat)  gamma, Poisson and others, rows of numbers
//!                   quasi                                 points of Sobol and Halton
//! ```
//!
//! Element i has a fixed place in a row of blocks. If one word is not enough, as for one normal number
//! in 500, `Words` gives the element more words from rows of its own.

mod arrays;
pub mod distributions;
mod functions;
mod integers;
mod math;
mod order;
mod quasi;
mod uniform;
mod ziggurat;

pub use arrays::{ElementError, Elements};
pub use integers::Integer;
pub use order::Permutation;
pub use quasi::{Halton, Sobol};
pub use uniform::Float;

#[cfg(test)]
mod tests;
