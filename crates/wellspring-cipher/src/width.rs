//! Safe code, compiled once for each width of registers.
//!
//! For work whose result does not depend on the width, such as generators in lanes that the compiler
//! vectorises. The crate that does the work needs no `unsafe`.

#[cfg(target_arch = "x86_64")]
use crate::x86::features::Features;
use core::fmt;

/// The registers for which the compiler may compile [`Work`].
///
/// Those named after instructions exist on x86-64 only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Width {
    /// 512 bits, AVX-512 (F, BW, DQ, VL), whose rotation is one instruction.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 256 bits, AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The registers that every machine of the target has: on x86-64 128 bits, SSE2.
    Portable,
}

/// Something to do at a [`Width`].
pub trait Work {
    /// The result.
    type Output;

    /// Does the work.
    ///
    /// Implement it, and what it calls, with `#[inline(always)]`: a function that is not inlined
    /// is compiled for [`Width::Portable`] only, also if a wider one calls it.
    fn run(self) -> Self::Output;
}

impl Width {
    /// Every width, the widest first.
    pub const ALL: &[Width] = &[
        #[cfg(target_arch = "x86_64")]
        Width::Avx512,
        #[cfg(target_arch = "x86_64")]
        Width::Avx2,
        Width::Portable,
    ];

    /// The widest that this CPU has.
    #[inline]
    #[must_use]
    pub fn detect() -> Width {
        let widest = Width::ALL.iter().find(|width| width.is_available());
        *widest.expect("the portable width is available everywhere")
    }

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Width::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => "avx2",
            Width::Portable => "portable",
        }
    }

    /// Whether this CPU and its operating system have the registers.
    ///
    /// CPUID is asked once in a process; later answers cost one load.
    #[inline]
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Width::Avx512 => Features::of_this_machine().contain(Features::AVX512),
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => Features::of_this_machine().contain(Features::AVX2),
            Width::Portable => true,
        }
    }

    /// Does `work` as compiled for this width.
    ///
    /// # Panics
    ///
    /// When this CPU lacks the width; [`Width::detect`] returns only widths that it has.
    #[inline]
    pub fn run<W: Work>(self, work: W) -> W::Output {
        assert!(self.is_available(), "this CPU lacks the width");
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the width is available, and the instructions are part of it.
            Width::Avx512 => unsafe { run_avx512(work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Width::Avx2 => unsafe { run_avx2(work) },
            Width::Portable => work.run(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
