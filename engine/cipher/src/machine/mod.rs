//! The kind of machine that the crate is compiled for: its implementations, the best first, its registers and their wipe.
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

#[cfg(not(target_arch = "x86_64"))]
#[cfg_attr(
    target_arch = "aarch64",
    allow(dead_code, reason = "`arm` has better ones")
)]
mod plain {
    //! A machine without implementations of its own.

    use crate::backend::{Compression, Features};
    use crate::portable::{aes, chacha20, sha256};
    use crate::{Backend, SimdTask, Width};

    /// Every backend, the best of each function first.
    pub(crate) const BACKENDS: &[Backend] = &[Backend(&aes::BACKEND), Backend(&chacha20::BACKEND)];

    /// The backends for a program that asks for no function, the best first.
    pub(crate) const BEST: &[Backend] = &[Backend(&chacha20::BACKEND)];

    /// Every compression function, the fastest first.
    pub(crate) const COMPRESSIONS: &[Compression] = &[Compression(&sha256::COMPRESSION)];

    pub(crate) fn features() -> Features {
        Features::NONE
    }

    pub(crate) fn has_width(width: Width) -> bool {
        width == Width::Portable
    }

    /// Does `task` in the registers of the target.
    ///
    /// # Safety
    ///
    /// Safe: it is unsafe on other machines.
    #[inline]
    pub(crate) unsafe fn run_at<T: SimdTask>(_: Width, task: T) -> T::Output {
        task.run()
    }

    /// Nothing: plain Rust names no register.
    pub(crate) fn wipe_basic_registers() {}

    /// Nothing: plain Rust names no register.
    pub(crate) fn wipe_all_registers() {}
}
