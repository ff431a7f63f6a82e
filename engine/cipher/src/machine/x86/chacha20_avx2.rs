//! ChaCha20 on AVX2: batches of eight blocks.

use super::features;
use super::ymm::*;
use crate::Prf;
use crate::backend::Implementation;
use crate::machine::vectors::chacha20_rounds::{
    CONSTANTS, LEFT_1, LEFT_2, LEFT_3, chacha20_columns, chacha20_rounds, initial_columns,
};
use crate::machine::vectors::reread::reread;
use crate::portable::chacha20::expand;
use crate::schedule::{Row, Schedule};
use core::arch::asm;
use core::arch::x86_64::*;
use core::arch::x86_64::{
    _mm256_add_epi32 as add, _mm256_shuffle_epi32 as shuffle,
    _mm256_unpackhi_epi32 as unpack_high_32, _mm256_unpackhi_epi64 as unpack_high_64,
    _mm256_unpacklo_epi32 as unpack_low_32, _mm256_unpacklo_epi64 as unpack_low_64,
};

pub(crate) static BACKEND: Implementation = Implementation {
    name: "chacha20-avx2",
    prf: Prf::ChaCha20,
    features: features::AVX2,
    expand,
    expand_stack_bytes: 256,
    fill,
    fill_stack_bytes: 2048,
};

chacha20_rounds!("avx2");
chacha20_columns!("avx2");

/// Shuffles the bytes of every word by a mask in memory.
///
/// With the intrinsic the compiler knows the mask and makes slower code: two instructions to swap halves,
/// and a shuffle of both operands of the XOR instead of one of its result.
macro_rules! shuffle_bytes {
    ($words:expr, $mask:ident) => {{
        let shuffled: Vector;
        // SAFETY: AVX2 is enabled here; it reads the 32 bytes of a static and writes a register.
        unsafe {
            asm!(
                "vpshufb {shuffled}, {words}, ymmword ptr [rip + {mask}]",
                shuffled = lateout(ymm_reg) shuffled,
                words = in(ymm_reg) $words,
                mask = sym $mask,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        shuffled
    }};
}

/// For each byte of the eight words: the byte of its lane that it comes from.
static LEFT_16: [u32; 8] = [
    0x0100_0302,
    0x0504_0706,
    0x0908_0b0a,
    0x0d0c_0f0e,
    0x0100_0302,
    0x0504_0706,
    0x0908_0b0a,
    0x0d0c_0f0e,
];
static LEFT_8: [u32; 8] = [
    0x0201_0003,
    0x0605_0407,
    0x0a09_080b,
    0x0e0d_0c0f,
    0x0201_0003,
    0x0605_0407,
    0x0a09_080b,
    0x0e0d_0c0f,
];

#[inline]
#[target_feature(enable = "avx2")]
fn rotate_left_16(words: Vector) -> Vector {
    shuffle_bytes!(words, LEFT_16)
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate_left_12(words: Vector) -> Vector {
    _mm256_or_si256(
        _mm256_slli_epi32::<12>(words),
        _mm256_srli_epi32::<20>(words),
    )
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate_left_8(words: Vector) -> Vector {
    shuffle_bytes!(words, LEFT_8)
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate_left_7(words: Vector) -> Vector {
    _mm256_or_si256(
        _mm256_slli_epi32::<7>(words),
        _mm256_srli_epi32::<25>(words),
    )
}

#[inline]
#[target_feature(enable = "avx2")]
fn every_word(word: u32) -> Vector {
    _mm256_set1_epi32(word as i32)
}

/// The number of each word.
#[inline]
#[target_feature(enable = "avx2")]
fn block_numbers() -> Vector {
    _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0)
}

/// From two blocks' rows side by side to the first block, then the second.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose_lanes([a, b, c, d]: [Vector; 4]) -> [Vector; 4] {
    [
        _mm256_permute2x128_si256::<0x20>(a, b),
        _mm256_permute2x128_si256::<0x20>(c, d),
        _mm256_permute2x128_si256::<0x31>(a, b),
        _mm256_permute2x128_si256::<0x31>(c, d),
    ]
}
