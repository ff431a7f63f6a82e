//! The kind of machine that the crate is compiled for: its implementations and widths, the best first, which ones this CPU
//! runs, and the wipe of what they leave on the stack.
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

use crate::backend::Compression;
use crate::{Backend, Prf, SimdTask, Width, portable};
use zeroize::zeroize_stack;

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

#[allow(
    non_upper_case_globals,
    reason = "they are used as the variants of an enum are"
)]
impl Backend {
    /// AES-256 in plain Rust, bitsliced, on every machine, in constant time: 4 blocks at a time.
    pub const Aes256Portable: Backend = Backend(&portable::aes::BACKEND);

    /// ChaCha20 in plain Rust, on every machine, in constant time: one block at a time.
    pub const ChaCha20Portable: Backend = Backend(&portable::chacha20::BACKEND);

    /// Every backend for this kind of machine, the best of each function first.
    pub const ALL: &[Backend] = BACKENDS;

    /// The best backend of `prf` that this CPU runs.
    #[must_use]
    pub fn detect(prf: Prf) -> Backend {
        let of_prf = |backend: &&Backend| backend.prf() == prf;
        first_available(Backend::ALL.iter().filter(of_prf))
    }

    /// The best backend for a program that asks for no function: AES-256 where the CPU has instructions for it, elsewhere
    /// ChaCha20, which is fast and constant in time without any.
    #[must_use]
    pub fn best() -> Backend {
        first_available(BEST.iter())
    }

    /// Whether this CPU and its operating system run the backend's instructions.
    ///
    /// The CPU is asked once in a process; later answers cost one load.
    #[must_use]
    pub fn is_available(self) -> bool {
        features().contain(self.0.features)
    }
}

fn first_available<'a>(backends: impl Iterator<Item = &'a Backend>) -> Backend {
    let mut available = backends.filter(|backend| backend.is_available());
    *available.next().expect("one is available everywhere")
}

#[allow(
    non_upper_case_globals,
    reason = "it is used as the variant of an enum is"
)]
impl Compression {
    /// Plain Rust, on every machine, in constant time.
    pub const Portable: Compression = Compression(&portable::sha256::COMPRESSION);

    /// Every implementation for this kind of machine, the fastest first.
    pub const ALL: &[Compression] = COMPRESSIONS;

    /// The fastest that this CPU runs.
    #[inline]
    #[must_use]
    pub fn detect() -> Compression {
        let fastest = Compression::ALL.iter().find(|each| each.is_available());
        *fastest.expect("the portable one is available everywhere")
    }

    /// Whether this CPU runs it. The CPU is asked once in a process; later answers cost one load.
    #[inline]
    #[must_use]
    pub fn is_available(self) -> bool {
        features().contain(self.0.features)
    }
}

impl Width {
    /// Every width, the widest first.
    pub const ALL: &[Width] = &[Width::Avx512, Width::Avx2, Width::Portable];

    /// The widest that this CPU has.
    #[inline]
    #[must_use]
    pub fn detect() -> Width {
        let widest = Width::ALL.iter().find(|width| width.is_available());
        *widest.expect("the portable width is available everywhere")
    }

    /// Whether this CPU and its operating system have the registers.
    ///
    /// The CPU is asked once in a process; later answers cost one load.
    #[inline]
    #[must_use]
    pub fn is_available(self) -> bool {
        has_width(self)
    }

    /// Does `task` as compiled for this width.
    ///
    /// # Panics
    ///
    /// When this CPU lacks the width; [`Width::detect`] returns only widths that it has.
    #[inline]
    pub fn run<T: SimdTask>(self, task: T) -> T::Output {
        assert!(self.is_available(), "this CPU lacks the width");
        // SAFETY: the width is available.
        unsafe { run_at(self, task) }
    }
}

// Wipes what a backend leaves on the stack.
//
// A wipe starts below the frame of its caller and covers the frames of the functions that the caller
// called before. Those functions must not be inlined into the caller. The sizes were measured in optimised
// code and rounded up generously; tests search the stack for secrets after each call.

/// The most stack that a backend uses in a build without optimisation.
const UNOPTIMISED_BYTES: usize = 6 << 10;

/// Overwrites the stack with zeros, `BYTES` bytes down from the frame of the caller.
///
/// For a function that has called others with secrets. The others must be `#[inline(never)]`: inlined
/// code works in the caller's own frame, which this does not reach. `BYTES` is the stack that they take
/// in optimised code; with debug assertions at least 6 KiB are wiped, as the compiler keeps less in
/// registers then.
///
/// ```
/// # use wellspring_cipher::erase_stack;
/// #[inline(never)]
/// fn handle(secret: &[u8; 32]) -> u8 {
///     let copy = *secret;
///     copy.iter().fold(0, |sum, byte| sum ^ byte)
/// }
///
/// let parity = handle(&[7; 32]);
/// erase_stack::<256>();
/// # assert_eq!(parity, 0);
/// ```
#[inline(always)]
pub fn erase_stack<const BYTES: usize>() {
    if cfg!(debug_assertions) && BYTES < UNOPTIMISED_BYTES {
        zeroize_stack::<UNOPTIMISED_BYTES>();
    } else {
        zeroize_stack::<BYTES>();
    }
}

/// Like [`erase_stack`], for a size that is data of an implementation: at least `bytes`, and nothing for 0.
#[inline(always)]
pub(crate) fn erase_stack_of(bytes: usize) {
    match bytes.max(cfg!(debug_assertions).into()) {
        0 => {}
        1..=256 => erase_stack::<256>(),
        257..=1024 => erase_stack::<1024>(),
        1025..=2048 => erase_stack::<2048>(),
        2049..=4096 => erase_stack::<4096>(),
        _ => erase_stack::<{ 16 << 10 }>(),
    }
}

/// Wipes the stack and the registers when it is dropped, after a key was set up: values that move
/// leave copies. It holds the bytes of the stack that the backend's `expand` takes.
///
/// It is a guard so that its owner can return the keystream directly from the call that makes it. A local
/// variable for the keystream would be one more copy, in a frame that no wipe covers.
pub(crate) struct EraseAfterSetUp(pub(crate) usize);

impl Drop for EraseAfterSetUp {
    #[inline]
    fn drop(&mut self) {
        erase_stack_of(self.0);
        wipe_basic_registers();
    }
}

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
