//! Statistics of bytes: what `ent` and `rngtest` measure, and estimates of SP 800-90B, in one pass.
//!
//! ```text
//! bytes --+-- counts          how often each byte value and each bit occurs
//!         +-- fips            FIPS 140-2: blocks of 20,000 bits
//!         +-- serial          neighbouring bytes and bits
//!         +-- monte_carlo_pi  points in a circle, for pi
//!         +-- compression     distances between equal blocks of 6 bits
//!                |
//!                v
//!             verdict         values, what is expected of good data, and the probability of such values
//! ```
//!
//! The memory is a few KiB for any number of bytes. Bits are taken from the highest of each byte to the lowest.

mod compression;
mod counts;
mod fips;
mod monte_carlo_pi;
mod one_pass;
mod serial;
mod verdict;

pub(crate) use one_pass::Statistics;
pub(crate) use verdict::{MIN_PROBABILITY, Test, Verdict};

#[cfg(test)]
mod tests;
