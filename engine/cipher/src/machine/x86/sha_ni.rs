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

/// Compresses `blocks` into `state`.
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
