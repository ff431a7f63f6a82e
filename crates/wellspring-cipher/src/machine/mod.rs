//! The kind of machine that the crate is compiled for: its implementations, the best first, and its registers.
//!
//! ```text
//! x86      x86-64
//! plain    every other machine: plain Rust
//! vectors  the common part of implementations on vector instructions
//! ```

#[cfg(not(target_arch = "x86_64"))]
mod plain;
#[cfg(target_arch = "x86_64")]
mod vectors;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use plain::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::*;
