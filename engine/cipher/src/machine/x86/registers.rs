//! Loads, stores and counters for each width of register: a module each, with the same names.

pub(super) mod xmm {
    //! Loads, stores and counters in 128-bit registers (SSE2), which every x86-64 CPU has.

    use crate::backend::Row;
    use core::arch::asm;
    pub(crate) use core::arch::x86_64::__m128i as Vector;
    pub(crate) use core::arch::x86_64::{
        _mm_add_epi64 as add_low, _mm_setzero_si128 as zero, _mm_xor_si128 as xor,
    };
    use core::arch::x86_64::{_mm_load_si128, _mm_set_epi64x, _mm_storeu_si128};
    use core::ptr;

    /// Bytes of a register.
    pub(crate) const VECTOR_BYTES: usize = size_of::<Vector>();

    /// The same row in every lane.
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

    /// Stores a register.
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

pub(super) mod ymm {
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

    /// Bytes of a register.
    pub(crate) const VECTOR_BYTES: usize = size_of::<Vector>();

    /// The same row in every lane.
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

    /// Stores a register.
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

pub(super) mod zmm {
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

    /// Bytes of a register.
    pub(crate) const VECTOR_BYTES: usize = size_of::<Vector>();

    /// The same row in every lane.
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

    /// Stores a register.
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
