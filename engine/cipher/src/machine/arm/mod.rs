//! arm64: its implementations and registers.
//!
//! ```text
//! features       the instructions that this CPU has
//! neon           loads, stores, counters and the wipe of the 128-bit registers
//! aes_schedule   the round keys
//!   aes_ce
//! chacha20_neon
//! sha256_ce      the compression function of SHA-256
//! ```
//!
//! A `fill` reads the key and the counter, and stores registers directly in the caller's memory. No
//! branch and no address depends on the key. Every `fill` wipes the registers that it used.
//!
//! All registers have 128 bits, and the compiler uses them everywhere: [`Width::Portable`](crate::Width::Portable) is the
//! only width.

mod aes_ce;
mod aes_schedule;
mod chacha20_neon;
mod features;
mod neon;
mod sha256_ce;

use crate::Backend;
use crate::portable::{aes, chacha20, sha256};
use crate::sha256::compression::Compression;

pub(crate) use features::of_this_machine as features;
pub(crate) use neon::wipe_registers as wipe_basic_registers;
pub(crate) use neon::wipe_registers as wipe_all_registers;

/// Every backend, the best of each function first.
pub(crate) const BACKENDS: &[Backend] = &[
    Backend(&aes_ce::BACKEND),
    Backend(&aes::BACKEND),
    Backend(&chacha20_neon::BACKEND),
    Backend(&chacha20::BACKEND),
];

/// The backends for a program that asks for no function, the best first. Miri runs no instructions of arm64: it takes the last.
pub(crate) const BEST: &[Backend] = &[
    Backend(&aes_ce::BACKEND),
    Backend(&chacha20_neon::BACKEND),
    Backend(&chacha20::BACKEND),
];

/// Every compression function, the fastest first.
pub(crate) const COMPRESSIONS: &[Compression] = &[
    Compression(&sha256_ce::COMPRESSION),
    Compression(&sha256::COMPRESSION),
];
