//! The statistical tier: fast numbers for callers who need no secrecy, such as schedulers, sampling
//! and test data.
//!
//! ```text
//! (seed, path) --SeedSequence--> state or key words --linear generator or function--> bytes --> elements
//!
//! splitmix64              one word becomes the words of a state
//! jump                    the jumps of a linear generator, as polynomials of its step
//! xorshift128plus         the linear generator with 128 bits of state
//! xoshiro256plusplus      the linear generator with 256 bits of state, which is better
//! xoshiro256plusplus_x16  sixteen of it in lanes, for long requests
//! rng_trait               rand_core's traits for all of them
//! philox                  Philox4x64-10, a function of a counter
//! name                    an algorithm, a seed and a path, which become words exactly as in NumPy
//! counter_function        the functions of a counter behind one interface
//! stream                  a sequence of bytes that has a name and is read from any byte
//! elements                arrays whose element i depends on the name and on i alone
//! saved                   a stream for serde
//! insecure_for_tests      a generator of known keys, for tests
//! ```
//!
//! # No secrecy
//!
//! A few outputs of a linear generator are enough to compute all others, past and future. The seed of a
//! stream is often a small number that can be guessed. That is why no type here implements `CryptoRng`, and a function that makes
//! keys does not accept them; but for the generator of [`insecure_for_tests`].
//!
//! # Reproducibility
//!
//! No version changes an output: the same state, or the same seed and path, give the same
//! bytes on any machine, for any byte order, number of threads and width of SIMD registers. The files
//! `vectors/pseudo-*.txt` and `vectors/seed-sequence.txt` hold known answers for implementations in
//! other languages.

//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `std`, on by default | the processor's square root; without it the crate needs `alloc` alone, and gives the same bits |
//! | `serde` | a [`Stream`] is saved as its name and position, and goes on where it was |
//! | `rand_core_09`, `rand_core_06` | the traits of rand_core 0.9 and 0.6, for rand 0.9 and 0.8, beside those of 0.10 |

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod counter_function;
mod elements;
pub mod insecure_for_tests;
mod jump;
mod name;
mod philox;
mod rng_trait;
#[cfg(feature = "serde")]
mod saved;
mod splitmix64;
mod stream;
mod xorshift128plus;
mod xoshiro256plusplus;
mod xoshiro256plusplus_x16;

pub use elements::distributions;
pub use elements::{ElementError, Elements, Float, Halton, Integer, Permutation, Sobol};
pub use name::{
    Algorithm, MAX_DEPTH, Path, PathError, PooledSeedSequence, SeedSequence, UnknownAlgorithm,
    WideSeedSequence,
};
pub use philox::philox4x64_10;
pub use stream::{Stream, TooManyJumps};
pub use wellspring_cipher::Width;
pub use xorshift128plus::Xorshift128Plus;
pub use xoshiro256plusplus::Xoshiro256PlusPlus;
pub use xoshiro256plusplus_x16::Xoshiro256PlusPlusX16;

/// Compiles the lines of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
