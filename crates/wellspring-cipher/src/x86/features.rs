//! What the CPU runs and the operating system saves, asked once.
//!
//! Done here because the usual helpers ask too much of VAES: they want the 512-bit registers for
//! it, and so would never choose the 256-bit kernel on a CPU that has AVX2 and VAES alone.

use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use core::sync::atomic::{AtomicU8, Ordering};

/// A set of the instruction sets that the kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features(u8);

impl Features {
    /// AES-NI, with SSSE3 for the key schedule.
    pub(crate) const AES: Features = Features(1 << 0);
    /// AVX2.
    pub(crate) const AVX2: Features = Features(1 << 1);
    /// AVX-512 F, BW and VL.
    pub(crate) const AVX512: Features = Features(1 << 2);
    /// VAES on 256-bit registers; on 512-bit ones it takes [`AVX512`](Self::AVX512) as well.
    pub(crate) const VAES: Features = Features(1 << 3);

    /// Marks the cache as filled.
    const KNOWN: Features = Features(1 << 7);

    /// The features of both.
    pub(crate) const fn and(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// Whether every feature of `wanted` is in this set.
    pub(crate) const fn contain(self, wanted: Features) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// The features of this machine: one relaxed load, after CPUID once.
    pub(crate) fn of_this_machine() -> Features {
        static CACHE: AtomicU8 = AtomicU8::new(0);
        let cached = Features(CACHE.load(Ordering::Relaxed));
        if cached.contain(Features::KNOWN) {
            return cached;
        }
        // Two threads that come here together store the same value.
        let features = Features::ask().and(Features::KNOWN);
        CACHE.store(features.0, Ordering::Relaxed);
        features
    }

    fn ask() -> Features {
        let has = |register: u32, bit: u32| register >> bit & 1 == 1;
        #[allow(unused_unsafe, reason = "safe functions from Rust 1.94 on")]
        // SAFETY: every x86-64 CPU has CPUID; leaf 7 is read where leaf 0 says that it exists.
        let (basic, extended) = unsafe {
            if __cpuid(0).eax < 7 {
                return Features(0);
            }
            (__cpuid(1), __cpuid_count(7, 0))
        };
        let [ssse3, aes, os_uses_xsave] = [9, 25, 27].map(|bit| has(basic.ecx, bit));
        // Without it the operating system saves none of the wide registers.
        let saved = match os_uses_xsave {
            // SAFETY: OSXSAVE says that XGETBV exists and user code may run it.
            true => unsafe { saved_registers() },
            false => 0,
        };
        const XMM_YMM: u64 = 1 << 1 | 1 << 2;
        const OPMASK_ZMM: u64 = 1 << 5 | 1 << 6 | 1 << 7;
        let wide = saved & XMM_YMM == XMM_YMM;
        let widest = wide && saved & OPMASK_ZMM == OPMASK_ZMM;
        let avx2 = wide && has(extended.ebx, 5);
        let avx512 = [16, 30, 31].into_iter().all(|bit| has(extended.ebx, bit));
        [
            (aes && ssse3, Features::AES),
            (avx2, Features::AVX2),
            (avx2 && widest && avx512, Features::AVX512),
            (avx2 && has(extended.ecx, 9), Features::VAES),
        ]
        .into_iter()
        .filter(|(present, _)| *present)
        .fold(Features(0), |set, (_, feature)| set.and(feature))
    }
}

/// XCR0: the register files that the operating system saves.
#[target_feature(enable = "xsave")]
fn saved_registers() -> u64 {
    // SAFETY: the caller's feature makes XGETBV legal, and XCR0 exists wherever XGETBV does.
    unsafe { _xgetbv(0) }
}

#[cfg(test)]
mod tests {
    use super::Features;

    extern crate std;

    #[test]
    fn the_answers_are_those_of_the_standard_library() {
        let expected = [
            (
                std::is_x86_feature_detected!("aes") && std::is_x86_feature_detected!("ssse3"),
                Features::AES,
            ),
            (std::is_x86_feature_detected!("avx2"), Features::AVX2),
            (
                std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512vl"),
                Features::AVX512,
            ),
            (std::is_x86_feature_detected!("vaes"), Features::VAES),
        ];
        for (present, feature) in expected {
            let found = Features::of_this_machine().contain(feature);
            assert_eq!(found, present, "{feature:?}");
        }
    }

    #[test]
    fn the_second_answer_comes_from_the_cache_and_is_the_same() {
        let first = Features::of_this_machine();
        assert!(first.contain(Features::KNOWN));
        assert_eq!(first, Features::of_this_machine());
    }
}
