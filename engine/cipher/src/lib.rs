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
//! machine    implementations for one kind of machine, and the wipe of its registers
//! functions  the choice of an implementation, the keystream, SHA-256, and the wipe of what a call leaves on the stack
//! ```
//!
//! All backends of a function give the same bytes for every key, counter and length. Tests and
//! benchmarks choose a backend by the API; one binary holds all of them.
//!
//! Other crates of the project use [`Width::run`] to run their own loops, which need no key, with the
//! widest registers of the CPU.

#![no_std]

mod backend;
mod functions;
mod machine;
mod portable;
mod prf;

pub use backend::{Backend, SimdTask, Width};
pub use functions::{Keystream, erase_stack, wipe};
pub use prf::{KEY_BYTES, Prf, UnknownPrf};

pub mod sha256 {
    //! SHA-256 (FIPS 180-4) that works in place: its state never moves.

    pub use crate::backend::Compression;
    pub use crate::functions::{DIGEST_BYTES, Sha256};
}
