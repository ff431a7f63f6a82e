//! The atomics of the lock-free parts: the real ones, or loom's in a model check.
//!
//! Not every processor has atomics of 64 bits (32-bit Arm before version 6K, MIPS and PowerPC have none). Words that
//! only carry data are `usize` therefore; the generation, which needs its width, is 64 bits where there are such
//! atomics, else 32.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::AtomicU64 as AtomicGeneration;

#[cfg(all(not(loom), target_has_atomic = "64"))]
pub(crate) use core::sync::atomic::AtomicU64 as AtomicGeneration;

#[cfg(all(not(loom), not(target_has_atomic = "64")))]
pub(crate) use core::sync::atomic::AtomicU32 as AtomicGeneration;

/// The bytes of a word that carries data: 8, or 4 on 32-bit targets.
pub(crate) const WORD_BYTES: usize = size_of::<usize>();

/// The number in the generation's atomic.
#[cfg(any(loom, target_has_atomic = "64"))]
pub(crate) type GenerationNumber = u64;

/// The number in the generation's atomic.
#[cfg(not(any(loom, target_has_atomic = "64")))]
pub(crate) type GenerationNumber = u32;
