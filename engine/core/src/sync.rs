//! The atomics of the lock-free parts: the real ones, or loom's in a model check.
//!
//! Not every processor has atomics of 64 bits (32-bit Arm before version 6K, MIPS and PowerPC have none). Therefore
//! words that only carry data are `usize`.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The bytes of a word that carries data: 8, or 4 on 32-bit targets.
pub(crate) const WORD_BYTES: usize = size_of::<usize>();
