//! x86-64: its implementations and registers.
//!
//! ```text
//! features       the instructions that this CPU has
//! xmm, ymm, zmm  loads, stores and counters of a register width, and the wipe of its registers, by the same names
//! aes            AES-256: the round keys, one schedule for all widths, and counter mode
//! chacha20       ChaCha20
//! sha_ni         the compression function of SHA-256
//! ```
//!
//! A `fill` reads the key and the counter, and stores registers directly in the caller's memory. No
//! branch and no address depends on the key. Every `fill` wipes the registers that it used.

mod aes;
mod chacha20;

use crate::backend::{Backend, Compression, SimdTask, Width};
use crate::portable;
use features::{AVX2, AVX512, of_this_machine};

pub(crate) use features::of_this_machine as features;
pub(crate) use xmm::wipe_registers as wipe_basic_registers;

/// Every backend, the best of each function first.
pub(crate) const BACKENDS: &[Backend] = &[
    Backend(&aes::vaes512::BACKEND),
    Backend(&aes::vaes256::BACKEND),
    Backend(&aes::ni::BACKEND),
    Backend(&portable::aes::BACKEND),
    Backend(&chacha20::avx512::BACKEND),
    Backend(&chacha20::avx2::BACKEND),
    Backend(&chacha20::sse2::BACKEND),
    Backend(&portable::chacha20::BACKEND),
];

/// The backends for a program that asks for no function, the best first.
///
/// A CPU with AVX2 has instructions for AES too, unless a hypervisor hides them. So the backends of ChaCha20 for wider
/// registers are not here. Miri runs no instructions of x86-64: it takes the last.
pub(crate) const BEST: &[Backend] = &[
    Backend(&aes::vaes512::BACKEND),
    Backend(&aes::vaes256::BACKEND),
    Backend(&aes::ni::BACKEND),
    Backend(&chacha20::sse2::BACKEND),
    Backend(&portable::chacha20::BACKEND),
];

/// Every compression function, the fastest first.
pub(crate) const COMPRESSIONS: &[Compression] = &[
    Compression(&sha_ni::COMPRESSION),
    Compression(&portable::sha256::COMPRESSION),
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

/// Whether this CPU and its operating system have the registers.
#[inline]
pub(crate) fn has_width(width: Width) -> bool {
    match width {
        Width::Avx512 => of_this_machine().contain(AVX512),
        Width::Avx2 => of_this_machine().contain(AVX2),
        Width::Portable => true,
    }
}

/// Does `task` as compiled for `width`.
///
/// # Safety
///
/// This CPU must have the width.
#[inline]
pub(crate) unsafe fn run_at<T: SimdTask>(width: Width, task: T) -> T::Output {
    match width {
        // SAFETY: the caller knows that the CPU has the instructions, which are part of the width.
        Width::Avx512 => unsafe { run_avx512(task) },
        // SAFETY: as above.
        Width::Avx2 => unsafe { run_avx2(task) },
        Width::Portable => task.run(),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512<T: SimdTask>(task: T) -> T::Output {
    task.run()
}

#[target_feature(enable = "avx2")]
fn run_avx2<T: SimdTask>(task: T) -> T::Output {
    task.run()
}

mod features {
    //! The instructions that the CPU has and whose registers the operating system saves; asked once.
    //!
    //! The crate `cpufeatures` reports VAES only where 512-bit registers are too: with it a CPU that has AVX2
    //! and VAES but no AVX-512 would not get the 256-bit backend.

    use crate::backend::Features;
    use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    use core::sync::atomic::{AtomicU8, Ordering};

    /// AES-NI, with SSSE3 for the key schedule.
    pub(crate) const AES: Features = Features(1 << 0);
    pub(crate) const AVX2: Features = Features(1 << 1);
    /// AVX-512 F, BW, DQ and VL.
    pub(crate) const AVX512: Features = Features(1 << 2);
    /// VAES on 256-bit registers; on 512-bit ones it takes [`AVX512`] as well.
    pub(crate) const VAES: Features = Features(1 << 3);
    /// The SHA instructions, with SSSE3 and SSE4.1 for the order of words.
    pub(crate) const SHA: Features = Features(1 << 4);
    /// SSE2, which every x86-64 CPU has, and Miri has not.
    pub(crate) const SSE2: Features = Features(1 << 5);

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
}

mod xmm {
    //! Loads, stores and counters in 128-bit registers (SSE2), which every x86-64 CPU has.

    use crate::backend::Row;
    use core::arch::asm;
    pub(crate) use core::arch::x86_64::__m128i as Vector;
    pub(crate) use core::arch::x86_64::{
        _mm_add_epi64 as add_low, _mm_setzero_si128 as zero, _mm_xor_si128 as xor,
    };
    use core::arch::x86_64::{_mm_load_si128, _mm_set_epi64x, _mm_storeu_si128};
    use core::ptr;

    pub(crate) const VECTOR_BYTES: usize = size_of::<Vector>();

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(crate) fn every_lane(row: &Row) -> Vector {
        // SAFETY: 16 bytes can be read, and a `u128` of x86-64 is aligned to 16 bytes.
        unsafe { _mm_load_si128(ptr::from_ref(row).cast()) }
    }

    /// Consecutive counters, the first of them `counter`.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(crate) fn first_counters(counter: u128) -> Vector {
        _mm_set_epi64x((counter >> 64) as i64, counter as i64)
    }

    /// The vector that `add_low` adds to step counters by `registers` full registers.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(crate) fn step(registers: usize) -> Vector {
        _mm_set_epi64x(0, registers as i64)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(crate) fn store(vector: Vector, destination: &mut [u8; VECTOR_BYTES]) {
        // SAFETY: `destination` is 16 bytes to write, and the store asks for no alignment.
        unsafe { _mm_storeu_si128(destination.as_mut_ptr().cast(), vector) }
    }

    /// Stores the first bytes of a register, fewer than all.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(crate) fn store_part(vector: Vector, destination: &mut [u8]) {
        let mut whole = [0; VECTOR_BYTES];
        store(vector, &mut whole);
        destination.copy_from_slice(&whole[..destination.len()]);
        store(zero(), &mut whole);
        zeroize::optimization_barrier(&whole);
    }

    /// Sets the vector registers to zero: they held keystream and round keys.
    #[inline]
    pub(crate) fn wipe_registers() {
        if cfg!(miri) {
            return; // It has no registers.
        }
        // SAFETY: touches no memory, and every register it writes is declared.
        unsafe {
            asm!(
                "pxor xmm0, xmm0", "pxor xmm1, xmm1", "pxor xmm2, xmm2", "pxor xmm3, xmm3",
                "pxor xmm4, xmm4", "pxor xmm5, xmm5", "pxor xmm6, xmm6", "pxor xmm7, xmm7",
                "pxor xmm8, xmm8", "pxor xmm9, xmm9", "pxor xmm10, xmm10", "pxor xmm11, xmm11",
                "pxor xmm12, xmm12", "pxor xmm13, xmm13", "pxor xmm14, xmm14", "pxor xmm15, xmm15",
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(nostack, preserves_flags),
            );
        }
    }
}

mod ymm {
    //! Loads, stores and counters in 256-bit registers (AVX2): two lanes of 128 bits.

    use crate::backend::Row;
    use core::arch::asm;
    pub(crate) use core::arch::x86_64::__m256i as Vector;
    use core::arch::x86_64::{
        _mm_load_si128, _mm256_broadcastsi128_si256, _mm256_set_epi64x, _mm256_storeu_si256,
    };
    pub(crate) use core::arch::x86_64::{
        _mm256_add_epi64 as add_low, _mm256_setzero_si256 as zero, _mm256_xor_si256 as xor,
    };
    use core::ptr;

    pub(crate) const VECTOR_BYTES: usize = size_of::<Vector>();

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn every_lane(row: &Row) -> Vector {
        // SAFETY: 16 bytes can be read, and a `u128` of x86-64 is aligned to 16 bytes.
        let lane = unsafe { _mm_load_si128(ptr::from_ref(row).cast()) };
        _mm256_broadcastsi128_si256(lane)
    }

    /// Consecutive counters, the first of them `counter`, whose low half must not wrap.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn first_counters(counter: u128) -> Vector {
        let (low, high) = (counter as i64, (counter >> 64) as i64);
        add_low(
            _mm256_set_epi64x(high, low, high, low),
            _mm256_set_epi64x(0, 1, 0, 0),
        )
    }

    /// The vector that `add_low` adds to step counters by `registers` full registers.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn step(registers: usize) -> Vector {
        let blocks = 2 * registers as i64;
        _mm256_set_epi64x(0, blocks, 0, blocks)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn store(vector: Vector, destination: &mut [u8; VECTOR_BYTES]) {
        // SAFETY: `destination` is 32 bytes to write, and the store asks for no alignment.
        unsafe { _mm256_storeu_si256(destination.as_mut_ptr().cast(), vector) }
    }

    /// Stores the first bytes of a register, fewer than all.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn store_part(vector: Vector, destination: &mut [u8]) {
        let mut whole = [0; VECTOR_BYTES];
        store(vector, &mut whole);
        destination.copy_from_slice(&whole[..destination.len()]);
        store(zero(), &mut whole);
        zeroize::optimization_barrier(&whole);
    }

    /// Sets the vector registers to zero: they held keystream and round keys.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn wipe_registers() {
        // SAFETY: touches no memory, and every register it writes is declared.
        unsafe {
            asm!(
                "vzeroall",
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
                out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
                out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
                out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
                options(nostack, preserves_flags),
            );
        }
    }
}

mod zmm {
    //! Loads, stores and counters in 512-bit registers (AVX-512 F and BW): four lanes of 128 bits.

    use crate::backend::Row;
    use core::arch::asm;
    pub(crate) use core::arch::x86_64::__m512i as Vector;
    use core::arch::x86_64::{
        _mm_load_si128, _mm512_broadcast_i32x4, _mm512_mask_storeu_epi8, _mm512_set_epi64,
        _mm512_storeu_si512,
    };
    pub(crate) use core::arch::x86_64::{
        _mm512_add_epi64 as add_low, _mm512_setzero_si512 as zero, _mm512_xor_si512 as xor,
    };
    use core::ptr;

    pub(crate) const VECTOR_BYTES: usize = size_of::<Vector>();

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn every_lane(row: &Row) -> Vector {
        // SAFETY: 16 bytes can be read, and a `u128` of x86-64 is aligned to 16 bytes.
        let lane = unsafe { _mm_load_si128(ptr::from_ref(row).cast()) };
        _mm512_broadcast_i32x4(lane)
    }

    /// Consecutive counters, the first of them `counter`, whose low half must not wrap.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn first_counters(counter: u128) -> Vector {
        let (low, high) = (counter as i64, (counter >> 64) as i64);
        let first = _mm512_set_epi64(high, low, high, low, high, low, high, low);
        add_low(first, _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0))
    }

    /// The vector that `add_low` adds to step counters by `registers` full registers.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn step(registers: usize) -> Vector {
        let blocks = 4 * registers as i64;
        _mm512_set_epi64(0, blocks, 0, blocks, 0, blocks, 0, blocks)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn store(vector: Vector, destination: &mut [u8; VECTOR_BYTES]) {
        // SAFETY: `destination` is 64 bytes to write, and the store asks for no alignment.
        unsafe { _mm512_storeu_si512(destination.as_mut_ptr().cast(), vector) }
    }

    /// Stores the first bytes of a register, fewer than all.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(crate) fn store_part(vector: Vector, destination: &mut [u8]) {
        debug_assert!(destination.len() < VECTOR_BYTES);
        let mask = (1 << destination.len()) - 1;
        // SAFETY: the mask has a bit for each byte of `destination`; the others are not touched.
        unsafe { _mm512_mask_storeu_epi8(destination.as_mut_ptr().cast(), mask, vector) }
    }

    /// Sets the vector registers to zero: they held keystream and round keys.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) fn wipe_registers() {
        // SAFETY: touches no memory, and every register it writes is declared.
        unsafe {
            asm!(
                "vzeroall", // registers 0 to 15 only
                "vpxord zmm16, zmm16, zmm16", "vpxord zmm17, zmm17, zmm17",
                "vpxord zmm18, zmm18, zmm18", "vpxord zmm19, zmm19, zmm19",
                "vpxord zmm20, zmm20, zmm20", "vpxord zmm21, zmm21, zmm21",
                "vpxord zmm22, zmm22, zmm22", "vpxord zmm23, zmm23, zmm23",
                "vpxord zmm24, zmm24, zmm24", "vpxord zmm25, zmm25, zmm25",
                "vpxord zmm26, zmm26, zmm26", "vpxord zmm27, zmm27, zmm27",
                "vpxord zmm28, zmm28, zmm28", "vpxord zmm29, zmm29, zmm29",
                "vpxord zmm30, zmm30, zmm30", "vpxord zmm31, zmm31, zmm31",
                out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _,
                out("zmm4") _, out("zmm5") _, out("zmm6") _, out("zmm7") _,
                out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _,
                out("zmm12") _, out("zmm13") _, out("zmm14") _, out("zmm15") _,
                out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
                out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _,
                out("zmm24") _, out("zmm25") _, out("zmm26") _, out("zmm27") _,
                out("zmm28") _, out("zmm29") _, out("zmm30") _, out("zmm31") _,
                options(nostack, preserves_flags),
            );
        }
    }
}

mod sha_ni {
    //! SHA-256 by the SHA instructions.
    //!
    //! After Gulley, Gopal, Yap, Feghali, Guilford and Wolrich, "Intel SHA Extensions" (Intel, 2013). SHA256RNDS2
    //! does two rounds on the state in two registers, words A B E F and C D G H. Twelve registers are
    //! enough: nothing goes to the stack.

    use super::features;
    use crate::backend::{BLOCK_BYTES, CompressionImplementation, ROUND_CONSTANTS};
    use core::arch::x86_64::*;

    pub(crate) static COMPRESSION: CompressionImplementation = CompressionImplementation {
        name: "sha256-ni",
        features: features::SHA,
        compress,
        // It keeps all in registers: this is for what a memory copy may use.
        stack_bytes: 256,
    };

    #[target_feature(enable = "sha,ssse3,sse4.1")]
    #[inline(never)]
    fn compress(state: &mut [u32; 8], blocks: &[[u8; BLOCK_BYTES]]) {
        let [mut abef, mut cdgh] = load_state(state);
        for block in blocks {
            let before = [abef, cdgh];
            let mut schedule = load_block(block);
            for (i, &words) in schedule.iter().enumerate() {
                four_rounds(&mut abef, &mut cdgh, words, 4 * i);
            }
            for first in [16, 32, 48] {
                for i in 0..4 {
                    schedule[i] = next_words(
                        schedule[i],
                        schedule[(i + 1) % 4],
                        schedule[(i + 2) % 4],
                        schedule[(i + 3) % 4],
                    );
                    four_rounds(&mut abef, &mut cdgh, schedule[i], first + 4 * i);
                }
            }
            abef = _mm_add_epi32(abef, before[0]);
            cdgh = _mm_add_epi32(cdgh, before[1]);
        }
        store_state(state, abef, cdgh);
    }

    /// Rounds `first` to `first` + 3 with four words of the schedule.
    #[inline]
    #[target_feature(enable = "sha,sse2")]
    fn four_rounds(abef: &mut __m128i, cdgh: &mut __m128i, words: __m128i, first: usize) {
        let constants = ROUND_CONSTANTS[first..].as_chunks::<4>().0[0];
        // SAFETY: 16 bytes can be read, and the load asks for no alignment.
        let constants = unsafe { _mm_loadu_si128(constants.as_ptr().cast()) };
        let sums = _mm_add_epi32(words, constants);
        // Two rounds make new A B E F from the old ones, which become C D G H.
        *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sums);
        *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_unpackhi_epi64(sums, sums));
    }

    /// The four words of the schedule after the sixteen in `a`, `b`, `c` and `d`.
    #[inline]
    #[target_feature(enable = "sha,ssse3")]
    fn next_words(a: __m128i, b: __m128i, c: __m128i, d: __m128i) -> __m128i {
        let seven_before = _mm_alignr_epi8::<4>(d, c);
        _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(a, b), seven_before), d)
    }

    /// The sixteen big-endian words of a block.
    #[inline]
    #[target_feature(enable = "ssse3")]
    fn load_block(block: &[u8; BLOCK_BYTES]) -> [__m128i; 4] {
        let reverse_words = _mm_set_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
        let mut words = [reverse_words; 4];
        for (words, bytes) in words.iter_mut().zip(block.as_chunks::<16>().0) {
            // SAFETY: 16 bytes can be read, and the load asks for no alignment.
            let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
            *words = _mm_shuffle_epi8(bytes, reverse_words);
        }
        words
    }

    /// From words in order, A in the lowest place, to A B E F and C D G H with A and C in the highest.
    #[inline]
    #[target_feature(enable = "sse4.1,ssse3")]
    fn load_state(state: &[u32; 8]) -> [__m128i; 2] {
        let halves = state.as_ptr().cast::<__m128i>();
        // SAFETY: 32 bytes can be read from `state`, and the loads ask for no alignment.
        let [dcba, hgfe] = unsafe { [_mm_loadu_si128(halves), _mm_loadu_si128(halves.add(1))] };
        let cdab = _mm_shuffle_epi32::<0b10_11_00_01>(dcba);
        let efgh = _mm_shuffle_epi32::<0b00_01_10_11>(hgfe);
        [
            _mm_alignr_epi8::<8>(cdab, efgh),
            _mm_blend_epi16::<0b1111_0000>(efgh, cdab),
        ]
    }

    /// Back to words in order.
    #[inline]
    #[target_feature(enable = "sse4.1,ssse3")]
    fn store_state(state: &mut [u32; 8], abef: __m128i, cdgh: __m128i) {
        let feba = _mm_shuffle_epi32::<0b00_01_10_11>(abef);
        let dchg = _mm_shuffle_epi32::<0b10_11_00_01>(cdgh);
        let halves = state.as_mut_ptr().cast::<__m128i>();
        // SAFETY: `state` is 32 bytes to write, and the stores ask for no alignment.
        unsafe {
            _mm_storeu_si128(halves, _mm_blend_epi16::<0b1111_0000>(feba, dchg));
            _mm_storeu_si128(halves.add(1), _mm_alignr_epi8::<8>(dchg, feba));
        }
    }
}
