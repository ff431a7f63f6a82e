//! Loads, stores and counters in 128-bit registers (NEON), which every arm64 CPU with floats has.

use crate::schedule::Row;
pub(super) use core::arch::aarch64::uint32x4_t as Vector;
use core::arch::aarch64::*;
use core::arch::asm;
use core::ptr;

/// Bytes of a register.
pub(super) const VECTOR_BYTES: usize = size_of::<Vector>();

/// The same row in every lane.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn every_lane(row: &Row) -> Vector {
    // SAFETY: 16 bytes can be read.
    unsafe { vld1q_u32(ptr::from_ref(row).cast()) }
}

/// Consecutive counters, the first of them `counter`.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn first_counters(counter: u128) -> Vector {
    let low = vcreate_u64(counter as u64);
    let high = vcreate_u64((counter >> 64) as u64);
    vreinterpretq_u32_u64(vcombine_u64(low, high))
}

/// The vector that `add_low` adds to step counters by `registers` full registers.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn step(registers: usize) -> Vector {
    first_counters(registers as u128)
}

/// Adds to the low halves of counters.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn add_low(counters: Vector, step: Vector) -> Vector {
    let (counters, step) = (vreinterpretq_u64_u32(counters), vreinterpretq_u64_u32(step));
    vreinterpretq_u32_u64(vaddq_u64(counters, step))
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn xor(a: Vector, b: Vector) -> Vector {
    veorq_u32(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn zero() -> Vector {
    vdupq_n_u32(0)
}

/// Stores a register.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn store(vector: Vector, destination: &mut [u8; VECTOR_BYTES]) {
    // SAFETY: `destination` is 16 bytes to write, and the store asks for no alignment.
    unsafe { vst1q_u8(destination.as_mut_ptr(), vreinterpretq_u8_u32(vector)) }
}

/// Stores the first bytes of a register, fewer than all.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn store_part(vector: Vector, destination: &mut [u8]) {
    let mut whole = [0; VECTOR_BYTES];
    store(vector, &mut whole);
    destination.copy_from_slice(&whole[..destination.len()]);
    store(zero(), &mut whole);
    zeroize::optimization_barrier(&whole);
}

/// Sets the vector registers to zero: they held keystream and round keys.
///
/// Not registers 8 to 15, whose low halves belong to the caller (AAPCS64, 6.1.2). A function that uses one loads its
/// low half again before it returns, and that sets the high half to zero.
#[inline]
pub(crate) fn wipe_registers() {
    if cfg!(miri) {
        return; // It has no registers.
    }
    // SAFETY: touches no memory, and every register it writes is declared.
    unsafe {
        asm!(
            "movi v0.2d, #0", "movi v1.2d, #0", "movi v2.2d, #0", "movi v3.2d, #0",
            "movi v4.2d, #0", "movi v5.2d, #0", "movi v6.2d, #0", "movi v7.2d, #0",
            "movi v16.2d, #0", "movi v17.2d, #0", "movi v18.2d, #0", "movi v19.2d, #0",
            "movi v20.2d, #0", "movi v21.2d, #0", "movi v22.2d, #0", "movi v23.2d, #0",
            "movi v24.2d, #0", "movi v25.2d, #0", "movi v26.2d, #0", "movi v27.2d, #0",
            "movi v28.2d, #0", "movi v29.2d, #0", "movi v30.2d, #0", "movi v31.2d, #0",
            out("v0") _, out("v1") _, out("v2") _, out("v3") _,
            out("v4") _, out("v5") _, out("v6") _, out("v7") _,
            out("v16") _, out("v17") _, out("v18") _, out("v19") _,
            out("v20") _, out("v21") _, out("v22") _, out("v23") _,
            out("v24") _, out("v25") _, out("v26") _, out("v27") _,
            out("v28") _, out("v29") _, out("v30") _, out("v31") _,
            options(nostack, preserves_flags),
        );
    }
}
