//! Loads, stores and counters in 128-bit registers (SSE2), which every x86-64 CPU has.

use crate::schedule::Row;
use core::arch::asm;
pub(super) use core::arch::x86_64::__m128i as Vector;
pub(super) use core::arch::x86_64::{
    _mm_add_epi64 as add_low, _mm_setzero_si128 as zero, _mm_xor_si128 as xor,
};
use core::arch::x86_64::{_mm_load_si128, _mm_set_epi64x, _mm_storeu_si128};
use core::ptr;

/// Bytes of a register.
pub(super) const VECTOR_BYTES: usize = size_of::<Vector>();

/// The same row in every lane.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn every_lane(row: &Row) -> Vector {
    // SAFETY: 16 bytes can be read, and a `u128` of x86-64 is aligned to 16 bytes.
    unsafe { _mm_load_si128(ptr::from_ref(row).cast()) }
}

/// Consecutive counters, the first of them `counter`.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn first_counters(counter: u128) -> Vector {
    _mm_set_epi64x((counter >> 64) as i64, counter as i64)
}

/// The vector that `add_low` adds to step counters by `registers` full registers.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn step(registers: usize) -> Vector {
    _mm_set_epi64x(0, registers as i64)
}

/// Stores a register.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn store(vector: Vector, destination: &mut [u8; VECTOR_BYTES]) {
    // SAFETY: `destination` is 16 bytes to write, and the store asks for no alignment.
    unsafe { _mm_storeu_si128(destination.as_mut_ptr().cast(), vector) }
}

/// Stores the first bytes of a register, fewer than all.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn store_part(vector: Vector, destination: &mut [u8]) {
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
