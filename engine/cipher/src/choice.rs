//! The implementations and widths, and which ones this CPU runs.
//!
//! The machine's folder has the lists, the best first.

use crate::backend::Compression;
use crate::{Backend, Prf, SimdTask, Width, machine, portable};

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
    pub const ALL: &[Backend] = machine::BACKENDS;

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
        first_available(machine::BEST.iter())
    }

    /// Whether this CPU and its operating system run the backend's instructions.
    ///
    /// The CPU is asked once in a process; later answers cost one load.
    #[must_use]
    pub fn is_available(self) -> bool {
        machine::features().contain(self.0.features)
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
    pub const ALL: &[Compression] = machine::COMPRESSIONS;

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
        machine::features().contain(self.0.features)
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
        machine::has_width(self)
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
        unsafe { machine::run_at(self, task) }
    }
}
