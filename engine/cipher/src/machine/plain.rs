//! A machine without implementations of its own.

use crate::features::Features;
use crate::portable::{aes, chacha20, sha256};
use crate::sha256::compression::Compression;
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
