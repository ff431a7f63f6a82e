//! The statistical tier: fast numbers for callers who need no secrecy, such as schedulers, sampling
//! and test data.
//!
//! ```text
//! (seed, path) --SeedSequence--> state words --engine--> words --little endian--> bytes
//!
//! splitmix64              one word becomes the words of a state
//! linear                  an engine's jumps, as polynomials of its step
//! xorshift128plus         the engine with 128 bits of state
//! xoshiro256plusplus      the engine with 256 bits of state, the better default
//! xoshiro256plusplus_x16  sixteen of it in lanes, for bulk
//! infallible              rand_core's trait for all of them
//! seed_sequence           a seed and a path become the words of a state, exactly as in NumPy
//! path                    the path as text: 3/0/17
//! stream                  a sequence of bytes that has a name
//! ```
//!
//! # No secrecy
//!
//! Whoever has seen a few outputs of these engines can compute all others, past and future. That is
//! why no type here implements `CryptoRng`: a function that makes keys does not accept them.
//!
//! # Reproducibility
//!
//! Every output here is fixed for ever: the same state, or the same seed and path, give the same
//! bytes on any machine, whatever its byte order, the number of threads and the width of its SIMD.
//! The files `vectors/pseudo-*.txt` and `vectors/seed-sequence.txt` pin it down for
//! implementations in other languages.

#![no_std]
#![forbid(unsafe_code)]

mod infallible;
mod linear;
mod path;
mod seed_sequence;
mod splitmix64;
mod stream;
mod xorshift128plus;
mod xoshiro256plusplus;
mod xoshiro256plusplus_x16;

pub use path::{MAX_DEPTH, Path, PathError};
pub use seed_sequence::SeedSequence;
pub use stream::{Algorithm, Stream, UnknownAlgorithm};
pub use wellspring_cipher::Width;
pub use xorshift128plus::Xorshift128Plus;
pub use xoshiro256plusplus::Xoshiro256PlusPlus;
pub use xoshiro256plusplus_x16::Xoshiro256PlusPlusX16;
