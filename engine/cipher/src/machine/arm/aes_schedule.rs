//! The key schedule of AES-256 (FIPS 197, 5.2).

use crate::KEY_BYTES;
use crate::schedule::{Row, Schedule};
use core::arch::aarch64::*;
use core::mem::transmute;

/// The rounds of AES-256, which takes one round key more.
pub(super) const ROUNDS: usize = 14;

/// Expands `key` to fifteen round keys of 128 bits, a row each; nothing reads the last row.
///
/// SubWord is AESE with a key of zero on a word copied to all four columns: with equal columns ShiftRows moves nothing.
#[target_feature(enable = "aes,neon")]
pub(super) fn expand(key: &[u8; KEY_BYTES]) -> Schedule {
    // SAFETY: 32 bytes can be read from `key`.
    let [mut before, mut last] =
        unsafe { [vld1q_u8(key.as_ptr()), vld1q_u8(key.as_ptr().add(16))] };
    let mut rows = [row(before); 16];
    rows[1] = row(last);
    let (pairs, _) = rows.as_chunks_mut();
    for (index, [even, odd]) in pairs.iter_mut().enumerate().skip(1) {
        let constant = vdupq_n_u32(1 << (index - 1));
        // RotWord turns the bytes of a word, which SubWord does not change the places of.
        let substituted = substituted_last_word(last);
        let rotated = vorrq_u32(
            vshrq_n_u32::<8>(substituted),
            vshlq_n_u32::<24>(substituted),
        );
        before = with_prefix_sums(before, veorq_u32(rotated, constant));
        *even = row(before);
        last = with_prefix_sums(last, substituted_last_word(before));
        *odd = row(last);
    }
    rows[ROUNDS + 1] = 0;
    Schedule::Aes256(rows)
}

fn row(key: uint8x16_t) -> Row {
    // SAFETY: both are 16 bytes, and any bits are a number.
    unsafe { transmute(key) }
}

/// SubWord of the last word, in all four words.
#[target_feature(enable = "aes,neon")]
fn substituted_last_word(words: uint8x16_t) -> uint32x4_t {
    let copied = vdupq_laneq_u32::<3>(vreinterpretq_u32_u8(words));
    vreinterpretq_u32_u8(vaeseq_u8(vreinterpretq_u8_u32(copied), vdupq_n_u8(0)))
}

/// Each word XORed with all the words before it, and with its word of `sum`.
#[target_feature(enable = "neon")]
fn with_prefix_sums(words: uint8x16_t, sum: uint32x4_t) -> uint8x16_t {
    let zero = vdupq_n_u8(0);
    let pairs = veorq_u8(words, vextq_u8::<12>(zero, words));
    let sums = veorq_u8(pairs, vextq_u8::<8>(zero, pairs));
    veorq_u8(sums, vreinterpretq_u8_u32(sum))
}
