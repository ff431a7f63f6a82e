//! The instructions that the CPU has and whose registers the operating system saves; asked once.
//!
//! The crate `cpufeatures` reports VAES only where 512-bit registers are too: with it a CPU that has AVX2
//! and VAES but no AVX-512 would not get the 256-bit backend.

use crate::backend::Features;
use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use core::sync::atomic::{AtomicU8, Ordering};

/// AES-NI, with SSSE3 for the key schedule.
pub(super) const AES: Features = Features(1 << 0);
/// AVX2.
pub(super) const AVX2: Features = Features(1 << 1);
/// AVX-512 F, BW, DQ and VL.
pub(super) const AVX512: Features = Features(1 << 2);
/// VAES on 256-bit registers; on 512-bit ones it takes [`AVX512`] as well.
pub(super) const VAES: Features = Features(1 << 3);
/// The SHA instructions, with SSSE3 and SSE4.1 for the order of words.
pub(super) const SHA: Features = Features(1 << 4);
/// SSE2, which every x86-64 CPU has, and Miri has not.
pub(super) const SSE2: Features = Features(1 << 5);

/// Marks the cache as filled.
const KNOWN: Features = Features(1 << 7);

static CACHE: AtomicU8 = AtomicU8::new(0);

/// The features of this machine: one relaxed load, after CPUID once.
#[inline]
pub(crate) fn of_this_machine() -> Features {
    let cached = Features(CACHE.load(Ordering::Relaxed));
    if cached.contain(KNOWN) {
        return cached;
    }
    fill_cache()
}

/// Two threads that come here together store the same value.
#[cold]
fn fill_cache() -> Features {
    let features = ask().and(KNOWN);
    CACHE.store(features.0, Ordering::Relaxed);
    features
}

fn ask() -> Features {
    if cfg!(miri) {
        return Features::NONE; // It has no CPUID, and few of these instructions.
    }
    #[allow(unused_unsafe, reason = "safe functions from Rust 1.94 on")]
    // SAFETY: every x86-64 CPU has CPUID; leaf 7 is read where leaf 0 says that it exists.
    let (basic, extended) = unsafe {
        if __cpuid(0).eax < 7 {
            return SSE2;
        }
        (__cpuid(1), __cpuid_count(7, 0))
    };
    let saved = if has(basic.ecx, OSXSAVE) {
        // SAFETY: OSXSAVE says that XGETBV exists and user code may run it.
        unsafe { saved_registers() }
    } else {
        // The operating system does not save the wide registers.
        0
    };
    of(basic.ecx, extended.ebx, extended.ecx, saved).and(SSE2)
}

/// The features that leaf 1 (`basic_c`), leaf 7 (`extended_b`, `extended_c`) and XCR0 announce.
fn of(basic_c: u32, extended_b: u32, extended_c: u32, saved: u64) -> Features {
    let ymm = saved & SAVES_YMM == SAVES_YMM;
    let zmm = saved & SAVES_ZMM == SAVES_ZMM;
    let avx2 = ymm && has(extended_b, 5);
    let avx512 = [16, 17, 30, 31] // F, DQ, BW, VL
        .into_iter()
        .all(|bit| has(extended_b, bit));
    [
        (has(basic_c, SSSE3) && has(basic_c, AES_NI), AES),
        (avx2, AVX2),
        (avx2 && zmm && avx512, AVX512),
        (avx2 && has(extended_c, 9), VAES),
        (
            has(basic_c, SSSE3) && has(basic_c, SSE4_1) && has(extended_b, 29),
            SHA,
        ),
    ]
    .into_iter()
    .filter(|(present, _)| *present)
    .fold(Features::NONE, |set, (_, feature)| set.and(feature))
}

/// Bits of ECX of leaf 1.
const SSSE3: u32 = 9;
const SSE4_1: u32 = 19;
const AES_NI: u32 = 25;
const OSXSAVE: u32 = 27;

/// Bits of XCR0: XMM and the upper halves of YMM; with them the masks and both parts of ZMM.
const SAVES_YMM: u64 = 0b0000_0110;
const SAVES_ZMM: u64 = 0b1110_0110;

fn has(register: u32, bit: u32) -> bool {
    register >> bit & 1 == 1
}

/// XCR0: the register files that the operating system saves.
#[target_feature(enable = "xsave")]
fn saved_registers() -> u64 {
    // SAFETY: the caller's feature makes XGETBV legal, and XCR0 exists wherever XGETBV does.
    unsafe { _xgetbv(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;

    #[test]
    fn the_answers_are_those_of_the_standard_library() {
        let expected = [
            (
                std::is_x86_feature_detected!("aes") && std::is_x86_feature_detected!("ssse3"),
                AES,
            ),
            (std::is_x86_feature_detected!("avx2"), AVX2),
            (
                std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512dq")
                    && std::is_x86_feature_detected!("avx512vl"),
                AVX512,
            ),
            (std::is_x86_feature_detected!("vaes"), VAES),
            (
                std::is_x86_feature_detected!("sha")
                    && std::is_x86_feature_detected!("ssse3")
                    && std::is_x86_feature_detected!("sse4.1"),
                SHA,
            ),
        ];
        for (present, feature) in expected {
            let found = of_this_machine().contain(feature);
            assert_eq!(found, present, "{feature:?}");
        }
    }

    const AES_BITS: u32 = 1 << SSSE3 | 1 << AES_NI;
    const AVX2_BIT: u32 = 1 << 5;
    const AVX512_BITS: u32 = 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31;
    const VAES_BIT: u32 = 1 << 9;

    #[test]
    fn vaes_is_found_on_a_cpu_without_avx512() {
        let features = of(AES_BITS, AVX2_BIT, VAES_BIT, SAVES_YMM);
        assert_eq!(features, AES.and(AVX2).and(VAES));
    }

    #[test]
    fn registers_that_are_not_saved_are_not_used() {
        let everything = |saved| of(AES_BITS, AVX2_BIT | AVX512_BITS, VAES_BIT, saved);
        let without_zmm = AES.and(AVX2).and(VAES);
        assert_eq!(everything(SAVES_ZMM), without_zmm.and(AVX512));
        assert_eq!(everything(SAVES_YMM), without_zmm);
        assert_eq!(everything(SAVES_ZMM & !SAVES_YMM), AES);
        assert_eq!(everything(0), AES);
    }

    #[test]
    fn no_part_of_avx512_may_be_missing() {
        for part in [16, 17, 30, 31] {
            let features = of(
                AES_BITS,
                AVX2_BIT | AVX512_BITS & !(1 << part),
                VAES_BIT,
                SAVES_ZMM,
            );
            assert!(!features.contain(AVX512), "without bit {part}");
        }
    }

    #[test]
    fn sha_is_found_with_the_instructions_that_order_its_words_only() {
        const SHA_BIT: u32 = 1 << 29;
        for (basic, found) in [
            (1 << SSSE3 | 1 << SSE4_1, true),
            (1 << SSSE3, false),
            (1 << SSE4_1, false),
        ] {
            let features = of(basic, SHA_BIT, 0, 0);
            assert_eq!(features.contain(SHA), found, "{basic:#x}");
        }
        let without = of(1 << SSSE3 | 1 << SSE4_1, !SHA_BIT, !0, !0);
        assert!(!without.contain(SHA));
    }

    #[test]
    fn the_second_answer_comes_from_the_cache_and_is_the_same() {
        let first = of_this_machine();
        assert!(first.contain(KNOWN));
        assert_eq!(first, of_this_machine());
    }
}
