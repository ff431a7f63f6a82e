//! The kind of machine that the crate is compiled for: its implementations, the best first, and its registers.
//!
//! ```text
//! x86      x86-64
//! arm      arm64, little-endian and with registers for floats; it takes its only width from `plain`
//! plain    every other machine: plain Rust
//! vectors  the common part of implementations on vector instructions
//! ```

#[cfg(all(
    target_arch = "aarch64",
    target_endian = "little",
    target_feature = "neon"
))]
mod arm;
#[cfg(not(target_arch = "x86_64"))]
#[cfg_attr(
    target_arch = "aarch64",
    allow(dead_code, reason = "`arm` has better ones")
)]
mod plain;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vectors;
#[cfg(target_arch = "x86_64")]
mod x86;

// These names hide the names that `plain` exports.
#[cfg(all(
    target_arch = "aarch64",
    target_endian = "little",
    target_feature = "neon"
))]
pub(crate) use arm::{
    BACKENDS, BEST, COMPRESSIONS, features, wipe_all_registers, wipe_basic_registers,
};
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use plain::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::*;
