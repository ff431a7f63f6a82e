//! Safe code, compiled once for each width of registers.
//!
//! For work whose result does not depend on the width, such as generators in lanes that the compiler
//! vectorises. The crate that does the work needs no `unsafe`.

use core::fmt;

/// The registers for which the compiler may compile a [`SimdTask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Width {
    /// 512 bits, AVX-512 (F, BW, DQ, VL) of x86-64, whose rotation is one instruction.
    Avx512,
    /// 256 bits, AVX2 of x86-64.
    Avx2,
    /// The registers that every machine of the target has: 128 bits on x86-64 and arm64, SSE2 and NEON.
    Portable,
}

/// Something to do at a [`Width`].
pub trait SimdTask {
    /// The result.
    type Output;

    /// Does the work.
    ///
    /// Implement it, and what it calls, with `#[inline(always)]`: a function that is not inlined is
    /// compiled for [`Width::Portable`] only, even if code for a wider one calls it.
    fn run(self) -> Self::Output;
}

impl Width {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Width::Avx512 => "avx512",
            Width::Avx2 => "avx2",
            Width::Portable => "portable",
        }
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
