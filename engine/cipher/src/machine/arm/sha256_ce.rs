//! SHA-256 by the SHA-256 instructions.
//!
//! SHA256H and SHA256H2 do four rounds on the state in two registers, words A to D and E to H. Everything stays in
//! registers.

use super::features;
use crate::sha256::compression::Implementation;
use crate::sha256::constants::{BLOCK_BYTES, ROUND_CONSTANTS};
use core::arch::aarch64::*;

pub(crate) static COMPRESSION: Implementation = Implementation {
    name: "sha256-ce",
    features: features::SHA256,
    compress,
    // It keeps all in registers: this is for what a memory copy may use.
    stack_bytes: 256,
};

/// Compresses `blocks` into `state`.
#[target_feature(enable = "sha2,neon")]
#[inline(never)]
fn compress(state: &mut [u32; 8], blocks: &[[u8; BLOCK_BYTES]]) {
    let (halves, _) = state.as_chunks_mut::<4>();
    // SAFETY: each half is 16 bytes to read.
    let [mut abcd, mut efgh] =
        unsafe { [vld1q_u32(halves[0].as_ptr()), vld1q_u32(halves[1].as_ptr())] };
    for block in blocks {
        let before = [abcd, efgh];
        let mut schedule = load_block(block);
        for (i, &words) in schedule.iter().enumerate() {
            four_rounds(&mut abcd, &mut efgh, words, 4 * i);
        }
        for first in [16, 32, 48] {
            for i in 0..4 {
                schedule[i] = next_words(
                    schedule[i],
                    schedule[(i + 1) % 4],
                    schedule[(i + 2) % 4],
                    schedule[(i + 3) % 4],
                );
                four_rounds(&mut abcd, &mut efgh, schedule[i], first + 4 * i);
            }
        }
        abcd = vaddq_u32(abcd, before[0]);
        efgh = vaddq_u32(efgh, before[1]);
    }
    // SAFETY: each half is 16 bytes to write.
    unsafe {
        vst1q_u32(halves[0].as_mut_ptr(), abcd);
        vst1q_u32(halves[1].as_mut_ptr(), efgh);
    }
}

/// Rounds `first` to `first` + 3 with four words of the schedule.
#[inline]
#[target_feature(enable = "sha2,neon")]
fn four_rounds(abcd: &mut uint32x4_t, efgh: &mut uint32x4_t, words: uint32x4_t, first: usize) {
    let constants = ROUND_CONSTANTS[first..].as_chunks::<4>().0[0];
    // SAFETY: 16 bytes can be read.
    let constants = unsafe { vld1q_u32(constants.as_ptr()) };
    let sums = vaddq_u32(words, constants);
    let before = *abcd;
    *abcd = vsha256hq_u32(*abcd, *efgh, sums);
    *efgh = vsha256h2q_u32(*efgh, before, sums);
}

/// The four words of the schedule after the sixteen in `a`, `b`, `c` and `d`.
#[inline]
#[target_feature(enable = "sha2,neon")]
fn next_words(a: uint32x4_t, b: uint32x4_t, c: uint32x4_t, d: uint32x4_t) -> uint32x4_t {
    vsha256su1q_u32(vsha256su0q_u32(a, b), c, d)
}

/// The sixteen big-endian words of a block.
#[inline]
#[target_feature(enable = "neon")]
fn load_block(block: &[u8; BLOCK_BYTES]) -> [uint32x4_t; 4] {
    let mut words = [vdupq_n_u32(0); 4];
    for (words, bytes) in words.iter_mut().zip(block.as_chunks::<16>().0) {
        // SAFETY: 16 bytes can be read, and the load asks for no alignment.
        let bytes = unsafe { vld1q_u8(bytes.as_ptr()) };
        *words = vreinterpretq_u32_u8(vrev32q_u8(bytes));
    }
    words
}
