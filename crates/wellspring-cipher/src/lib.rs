//! Keystreams for *generation*: AES-256 in counter mode and ChaCha20, each with a 128-bit
//! little-endian counter that carries over all its bits.
//!
//! A keystream cipher that encrypts has a plaintext and an XOR; a generator has neither. The one
//! bulk call here, [`Keystream::fill`], stores keystream straight into the destination.
//!
//! ```text
//! prf        which function: Prf, its block length, its name
//! backend    which implementation of it this CPU runs: Backend, one detect
//! keystream  key and counter at work: one match per bulk call
//! seekable   the same at any block number and with 8, 12 or 20 rounds, for the statistical tier
//! runs       the carry out of the counter's low half, in one place for all backends
//! stack      what the backends leave on the stack, wiped
//! sha256     the hash of pools and seeds, in place
//! portable   RustCrypto's implementations, the fallback everywhere and the oracle of the others
//! x86        the project's own backends for x86-64
//! width      safe code of others, compiled for several widths of registers
//! ```
//!
//! The output of every backend of a function is the same, byte for byte, for every key, counter and
//! length. Tests and benchmarks force any backend through the API in one binary.
//!
//! This is also where the instructions of a CPU are chosen for others: [`Width::run`] does work that
//! needs no key, such as that of the statistical tier, at the widest registers there are.

#![no_std]

mod backend;
mod chacha20_key;
mod keystream;
mod portable;
mod prf;
#[cfg(target_arch = "x86_64")]
mod runs;
mod seekable;
pub mod sha256;
mod stack;
mod width;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use backend::Backend;
pub use keystream::Keystream;
pub use prf::{KEY_BYTES, Prf, UnknownPrf};
pub use seekable::{SeekableFunction, SeekableKeystream};
pub use stack::erase_stack;
pub use width::{Width, Work};
