//! x86-64: its implementations and registers.
//!
//! ```text
//! features         the instructions that this CPU has
//! xmm ymm zmm      loads, stores and counters for each register width
//! aes_schedule     the round keys, one schedule for all widths
//! aes_counter_mode counter mode, for any width
//!   aes_ni vaes256 vaes512
//! chacha20_sse2 chacha20_avx2 chacha20_avx512
//! sha_ni           the compression function of SHA-256
//! width            safe code of other crates, compiled for each register width
//! ```
//!
//! A `fill` reads the key and the counter, and stores registers directly in the caller's memory. No
//! branch and no address depends on the key. Every `fill` wipes the registers that it used.

mod aes_counter_mode;
mod aes_ni;
mod aes_schedule;
mod chacha20_avx2;
mod chacha20_avx512;
mod chacha20_sse2;
mod features;
mod sha_ni;
mod vaes256;
mod vaes512;
mod width;
mod xmm;
mod ymm;
mod zmm;

use crate::portable::{aes, chacha20, sha256};
use crate::sha256::compression::Compression;
use crate::{Backend, Width};

pub(crate) use features::of_this_machine as features;
pub(crate) use width::{has_width, run_at};
pub(crate) use xmm::wipe_registers as wipe_basic_registers;

/// Every backend, the best of each function first.
pub(crate) const BACKENDS: &[Backend] = &[
    Backend(&vaes512::BACKEND),
    Backend(&vaes256::BACKEND),
    Backend(&aes_ni::BACKEND),
    Backend(&aes::BACKEND),
    Backend(&chacha20_avx512::BACKEND),
    Backend(&chacha20_avx2::BACKEND),
    Backend(&chacha20_sse2::BACKEND),
    Backend(&chacha20::BACKEND),
];

/// The backends for a program that asks for no function, the best first.
///
/// A CPU with AVX2 has instructions for AES too, unless a hypervisor hides them. So the backends of ChaCha20 for wider
/// registers are not here. Miri runs no instructions of x86-64: it takes the last.
pub(crate) const BEST: &[Backend] = &[
    Backend(&vaes512::BACKEND),
    Backend(&vaes256::BACKEND),
    Backend(&aes_ni::BACKEND),
    Backend(&chacha20_sse2::BACKEND),
    Backend(&chacha20::BACKEND),
];

/// Every compression function, the fastest first.
pub(crate) const COMPRESSIONS: &[Compression] = &[
    Compression(&sha_ni::COMPRESSION),
    Compression(&sha256::COMPRESSION),
];

/// Wipes every vector register that this CPU has: a memory copy of the C library takes the widest.
#[inline]
pub(crate) fn wipe_all_registers() {
    if has_width(Width::Avx512) {
        // SAFETY: the CPU has AVX-512.
        unsafe { zmm::wipe_registers() }
    } else if has_width(Width::Avx2) {
        // SAFETY: the CPU has AVX2.
        unsafe { ymm::wipe_registers() }
    } else {
        xmm::wipe_registers();
    }
}
