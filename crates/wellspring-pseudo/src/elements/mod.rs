//! Arrays whose element i depends on the name of the array and on i alone.
//!
//! ```text
//! arrays --words--> uniform
//!                   integers     (retries)
//!                   ziggurat     (retries, math)  normal and exponential
//!                   order        (retries)        shuffle and permutation
//! ```
//!
//! Element i has a fixed place in a row of blocks. If one word is not enough, as for one normal number
//! in 500, `retries` gives the element more words from rows of its own.

mod arrays;
mod integers;
mod math;
mod order;
mod retries;
mod uniform;
mod ziggurat;

pub use arrays::{ElementError, Elements};
pub use integers::Integer;
pub use order::Permutation;
pub use uniform::Float;

#[cfg(test)]
mod tests;
