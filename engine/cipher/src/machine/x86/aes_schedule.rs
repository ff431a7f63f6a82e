//! The key schedule of AES-256 (FIPS 197, 5.2) for every AES backend.

use crate::KEY_BYTES;
use crate::schedule::{Row, Schedule};
use core::arch::x86_64::*;
use core::mem::transmute;

/// The rounds of AES-256, which takes one round key more.
pub(super) const ROUNDS: usize = 14;

/// Expands `key` to fifteen round keys of 128 bits, a row each; nothing reads the last row.
///
/// SubWord is AESENCLAST on a word copied to all four columns: with equal columns ShiftRows
/// moves nothing, and the round constant is its round key. That takes 4 cycles where
/// AESKEYGENASSIST takes 7 to 13. The prefix sums do not wait for it.
#[target_feature(enable = "aes,ssse3")]
pub(super) fn expand(key: &[u8; KEY_BYTES]) -> Schedule {
    let halves = key.as_ptr().cast::<__m128i>();
    // SAFETY: 32 bytes can be read from `key`, and the loads ask for no alignment.
    let [mut before, mut last] =
        unsafe { [_mm_loadu_si128(halves), _mm_loadu_si128(halves.add(1))] };
    let mut rows = [row(before); 16];
    rows[1] = row(last);
    // Bytes 13, 14, 15, 12 in each column: RotWord of the last word.
    let rotate = _mm_set1_epi32(0x0c0f_0e0d);
    let (pairs, _) = rows.as_chunks_mut();
    for (index, [even, odd]) in pairs.iter_mut().enumerate().skip(1) {
        let constant = _mm_set1_epi32(1 << (index - 1));
        let substituted = _mm_aesenclast_si128(_mm_shuffle_epi8(last, rotate), constant);
        before = _mm_xor_si128(prefix_sums(before), substituted);
        *even = row(before);
        let copied = _mm_shuffle_epi32::<0xff>(before);
        let substituted = _mm_aesenclast_si128(copied, _mm_setzero_si128());
        last = _mm_xor_si128(prefix_sums(last), substituted);
        *odd = row(last);
    }
    rows[ROUNDS + 1] = 0;
    Schedule::Aes256(rows)
}

fn row(key: __m128i) -> Row {
    // SAFETY: both are 16 bytes, and any bits are a number.
    unsafe { transmute(key) }
}

/// Each word XORed with all the words before it.
#[target_feature(enable = "sse2")]
fn prefix_sums(words: __m128i) -> __m128i {
    let pairs = _mm_xor_si128(words, _mm_slli_si128::<4>(words));
    _mm_xor_si128(pairs, _mm_slli_si128::<8>(pairs))
}
