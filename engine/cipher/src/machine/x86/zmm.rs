//! Loads, stores and counters in 512-bit registers (AVX-512 F and BW): four lanes of 128 bits.

use crate::schedule::Row;
use core::arch::asm;
pub(super) use core::arch::x86_64::__m512i as Vector;
use core::arch::x86_64::{
    _mm_load_si128, _mm512_broadcast_i32x4, _mm512_mask_storeu_epi8, _mm512_set_epi64,
    _mm512_storeu_si512,
};
pub(super) use core::arch::x86_64::{
    _mm512_add_epi64 as add_low, _mm512_setzero_si512 as zero, _mm512_xor_si512 as xor,
};
use core::ptr;

/// Bytes of a register.
pub(super) const VECTOR_BYTES: usize = size_of::<Vector>();

/// The same row in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn every_lane(row: &Row) -> Vector {
    // SAFETY: 16 bytes can be read, and a `u128` of x86-64 is aligned to 16 bytes.
    let lane = unsafe { _mm_load_si128(ptr::from_ref(row).cast()) };
    _mm512_broadcast_i32x4(lane)
}

/// Consecutive counters, the first of them `counter`, whose low half must not wrap.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn first_counters(counter: u128) -> Vector {
    let (low, high) = (counter as i64, (counter >> 64) as i64);
    let first = _mm512_set_epi64(high, low, high, low, high, low, high, low);
    add_low(first, _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0))
}

/// The vector that `add_low` adds to step counters by `registers` full registers.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn step(registers: usize) -> Vector {
    let blocks = 4 * registers as i64;
    _mm512_set_epi64(0, blocks, 0, blocks, 0, blocks, 0, blocks)
}

/// Stores a register.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(vector: Vector, destination: &mut [u8; VECTOR_BYTES]) {
    // SAFETY: `destination` is 64 bytes to write, and the store asks for no alignment.
    unsafe { _mm512_storeu_si512(destination.as_mut_ptr().cast(), vector) }
}

/// Stores the first bytes of a register, fewer than all.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn store_part(vector: Vector, destination: &mut [u8]) {
    debug_assert!(destination.len() < VECTOR_BYTES);
    let mask = (1 << destination.len()) - 1;
    // SAFETY: the mask has a bit for each byte of `destination`; the others are not touched.
    unsafe { _mm512_mask_storeu_epi8(destination.as_mut_ptr().cast(), mask, vector) }
}

/// Sets the vector registers to zero: they held keystream and round keys.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn wipe_registers() {
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
