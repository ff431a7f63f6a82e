//! x86-64: its implementations and registers.
//!
//! ```text
//! features   the instructions that this CPU has
//! registers  loads, stores and counters for each register width
//! aes        AES-256: the round keys, one schedule for all widths, and counter mode
//! chacha20   ChaCha20
//! sha_ni     the compression function of SHA-256
//! ```
//!
//! A `fill` reads the key and the counter, and stores registers directly in the caller's memory. No
//! branch and no address depends on the key. Every `fill` wipes the registers that it used.

mod aes;
mod chacha20;
mod features;
mod registers;
mod sha_ni;

use crate::backend::{Backend, Compression, SimdTask, Width};
use crate::portable;
use features::{AVX2, AVX512, of_this_machine};

pub(crate) use features::of_this_machine as features;
pub(crate) use registers::xmm::wipe_registers as wipe_basic_registers;

/// Every backend, the best of each function first.
pub(crate) const BACKENDS: &[Backend] = &[
    Backend(&aes::vaes512::BACKEND),
    Backend(&aes::vaes256::BACKEND),
    Backend(&aes::ni::BACKEND),
    Backend(&portable::aes::BACKEND),
    Backend(&chacha20::avx512::BACKEND),
    Backend(&chacha20::avx2::BACKEND),
    Backend(&chacha20::sse2::BACKEND),
    Backend(&portable::chacha20::BACKEND),
];

/// The backends for a program that asks for no function, the best first.
///
/// A CPU with AVX2 has instructions for AES too, unless a hypervisor hides them. So the backends of ChaCha20 for wider
/// registers are not here. Miri runs no instructions of x86-64: it takes the last.
pub(crate) const BEST: &[Backend] = &[
    Backend(&aes::vaes512::BACKEND),
    Backend(&aes::vaes256::BACKEND),
    Backend(&aes::ni::BACKEND),
    Backend(&chacha20::sse2::BACKEND),
    Backend(&portable::chacha20::BACKEND),
];

/// Every compression function, the fastest first.
pub(crate) const COMPRESSIONS: &[Compression] = &[
    Compression(&sha_ni::COMPRESSION),
    Compression(&portable::sha256::COMPRESSION),
];

/// Wipes every vector register that this CPU has: a memory copy of the C library takes the widest.
#[inline]
pub(crate) fn wipe_all_registers() {
    if has_width(Width::Avx512) {
        // SAFETY: the CPU has AVX-512.
        unsafe { registers::zmm::wipe_registers() }
    } else if has_width(Width::Avx2) {
        // SAFETY: the CPU has AVX2.
        unsafe { registers::ymm::wipe_registers() }
    } else {
        registers::xmm::wipe_registers();
    }
}

/// Whether this CPU and its operating system have the registers.
#[inline]
pub(crate) fn has_width(width: Width) -> bool {
    match width {
        Width::Avx512 => of_this_machine().contain(AVX512),
        Width::Avx2 => of_this_machine().contain(AVX2),
        Width::Portable => true,
    }
}

/// Does `task` as compiled for `width`.
///
/// # Safety
///
/// This CPU must have the width.
#[inline]
pub(crate) unsafe fn run_at<T: SimdTask>(width: Width, task: T) -> T::Output {
    match width {
        // SAFETY: the caller knows that the CPU has the instructions, which are part of the width.
        Width::Avx512 => unsafe { run_avx512(task) },
        // SAFETY: as above.
        Width::Avx2 => unsafe { run_avx2(task) },
        Width::Portable => task.run(),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512<T: SimdTask>(task: T) -> T::Output {
    task.run()
}

#[target_feature(enable = "avx2")]
fn run_avx2<T: SimdTask>(task: T) -> T::Output {
    task.run()
}
