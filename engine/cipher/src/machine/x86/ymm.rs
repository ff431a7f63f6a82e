//! Loads, stores and counters in 256-bit registers (AVX2): two lanes of 128 bits.

use crate::schedule::Row;
use core::arch::asm;
pub(super) use core::arch::x86_64::__m256i as Vector;
use core::arch::x86_64::{
    _mm_load_si128, _mm256_broadcastsi128_si256, _mm256_set_epi64x, _mm256_storeu_si256,
};
pub(super) use core::arch::x86_64::{
    _mm256_add_epi64 as add_low, _mm256_setzero_si256 as zero, _mm256_xor_si256 as xor,
};
use core::ptr;

/// Bytes of a register.
pub(super) const VECTOR_BYTES: usize = size_of::<Vector>();

/// The same row in every lane.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn every_lane(row: &Row) -> Vector {
    // SAFETY: 16 bytes can be read, and a `u128` of x86-64 is aligned to 16 bytes.
    let lane = unsafe { _mm_load_si128(ptr::from_ref(row).cast()) };
    _mm256_broadcastsi128_si256(lane)
}

/// Consecutive counters, the first of them `counter`, whose low half must not wrap.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn first_counters(counter: u128) -> Vector {
    let (low, high) = (counter as i64, (counter >> 64) as i64);
    add_low(
        _mm256_set_epi64x(high, low, high, low),
        _mm256_set_epi64x(0, 1, 0, 0),
    )
}

/// The vector that `add_low` adds to step counters by `registers` full registers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn step(registers: usize) -> Vector {
    let blocks = 2 * registers as i64;
    _mm256_set_epi64x(0, blocks, 0, blocks)
}

/// Stores a register.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store(vector: Vector, destination: &mut [u8; VECTOR_BYTES]) {
    // SAFETY: `destination` is 32 bytes to write, and the store asks for no alignment.
    unsafe { _mm256_storeu_si256(destination.as_mut_ptr().cast(), vector) }
}

/// Stores the first bytes of a register, fewer than all.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store_part(vector: Vector, destination: &mut [u8]) {
    let mut whole = [0; VECTOR_BYTES];
    store(vector, &mut whole);
    destination.copy_from_slice(&whole[..destination.len()]);
    store(zero(), &mut whole);
    zeroize::optimization_barrier(&whole);
}

/// Sets the vector registers to zero: they held keystream and round keys.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn wipe_registers() {
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
