//! Keystreams for generators: AES-256 in counter mode and ChaCha20, each with a 128-bit
//! little-endian counter that carries over all its bits; and SHA-256 in place.
//!
//! Encryption XORs the keystream with a plaintext. A generator has no plaintext:
//! [`Keystream::fill`] stores the keystream directly in the destination.
//!
//! ```text
//! prf        the two functions: their names and the length of a block
//! backend    an implementation of a function, as a table of data
//! portable   implementations in plain Rust, for every machine
//! machine    implementations for one kind of machine, which ones this CPU runs, and the wipe of what they leave on the stack
//! keystream  a key and a counter: one call by a pointer for each fill
//! sha256     the hash of pools and seeds, in place
//! ```
//!
//! All backends of a function give the same bytes for every key, counter and length. Tests and
//! benchmarks choose a backend by the API; one binary holds all of them.
//!
//! Other crates of the project use [`Width::run`] to run their own loops, which need no key, with the
//! widest registers of the CPU.

#![no_std]

mod backend;
mod keystream;
mod machine;
mod portable;
mod prf;
pub mod sha256;

pub use backend::{Backend, SimdTask, Width};
pub use keystream::Keystream;
pub use machine::erase_stack;
pub use prf::{KEY_BYTES, Prf, UnknownPrf};
