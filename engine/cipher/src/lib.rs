//! Keystreams for generators: AES-256 in counter mode and ChaCha20, each with a 128-bit
//! little-endian counter that carries over all its bits; and SHA-256 in place.
//!
//! Encryption XORs the keystream with a plaintext. A generator has no plaintext:
//! [`Keystream::fill`] stores the keystream directly in the destination.
//!
//! ```text
//! prf        the two functions: Prf, block length, name
//! features   what a CPU must have
//! schedule   the key in the form that a backend needs, wiped on drop
//! backend    an implementation of a function, as a table of data
//! choice     the implementations, and which ones this CPU runs
//! runs       the carry from the low word of the counter to the words above it
//! stack      wipes what the backends leave on the stack
//! keystream  a key and a counter: one call by a pointer for each fill
//! sha256     the hash of pools and seeds, in place
//! width      compiles safe code of other crates for several register widths
//! portable   implementations in plain Rust, for every machine
//! machine    implementations for one kind of machine, a folder each, and what the crate asks of it
//! ```
//!
//! All backends of a function give the same bytes for every key, counter and length. Tests and
//! benchmarks choose a backend by the API; one binary holds all of them.
//!
//! Other crates of the project use [`Width::run`] to run their own loops, which need no key, with the
//! widest registers of the CPU.

#![no_std]

mod backend;
mod choice;
mod features;
mod keystream;
mod machine;
mod portable;
mod prf;
mod runs;
mod schedule;
pub mod sha256;
mod stack;
mod width;

pub use backend::Backend;
pub use keystream::Keystream;
pub use prf::{KEY_BYTES, Prf, UnknownPrf};
pub use stack::erase_stack;
pub use width::{SimdTask, Width};
