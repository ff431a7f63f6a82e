//! The key schedule of AES-256 (FIPS 197, 5.2) for every AES backend.

use crate::KEY_BYTES;
use core::arch::x86_64::*;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Rounds of AES-256; one more round key than that.
pub(crate) const ROUNDS: usize = 14;

/// The fifteen round keys of 128 bits, 240 bytes, wiped on drop.
pub(crate) struct RoundKeys(pub(super) [__m128i; ROUNDS + 1]);

impl RoundKeys {
    /// Expands `key`.
    ///
    /// SubWord is AESENCLAST on a word copied to all four columns: with equal columns ShiftRows
    /// moves nothing, and the round constant is its round key. That takes 4 cycles where
    /// AESKEYGENASSIST takes 7 to 13. The prefix sums do not wait for it.
    #[target_feature(enable = "aes,ssse3")]
    #[inline]
    pub(crate) fn expand(key: &[u8; KEY_BYTES]) -> RoundKeys {
        let halves = key.as_ptr().cast::<__m128i>();
        // SAFETY: 32 bytes can be read from `key`, and the loads ask for no alignment.
        let [mut before, mut last] =
            unsafe { [_mm_loadu_si128(halves), _mm_loadu_si128(halves.add(1))] };
        let mut keys = [before; ROUNDS + 1];
        keys[1] = last;
        // Bytes 13, 14, 15, 12 in each column: RotWord of the last word.
        let rotate = _mm_set1_epi32(0x0c0f_0e0d);
        for (round, key) in keys.iter_mut().enumerate().skip(2) {
            let substituted = if round % 2 == 0 {
                let constant = _mm_set1_epi32(1 << (round / 2 - 1));
                _mm_aesenclast_si128(_mm_shuffle_epi8(last, rotate), constant)
            } else {
                let copied = _mm_shuffle_epi32::<0xff>(last);
                _mm_aesenclast_si128(copied, _mm_setzero_si128())
            };
            let next = _mm_xor_si128(prefix_sums(before), substituted);
            *key = next;
            (before, last) = (last, next);
        }
        RoundKeys(keys)
    }
}

/// Each word XORed with all the words before it.
#[target_feature(enable = "sse2")]
fn prefix_sums(words: __m128i) -> __m128i {
    let pairs = _mm_xor_si128(words, _mm_slli_si128::<4>(words));
    _mm_xor_si128(pairs, _mm_slli_si128::<8>(pairs))
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for RoundKeys {}
