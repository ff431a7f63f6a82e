//! ChaCha20 on AVX-512: batches of sixteen blocks, rotations in one instruction.

use super::chacha20_rounds::{CONSTANTS, LEFT_1, LEFT_2, LEFT_3, chacha20_rounds};
use super::reread::reread;
use super::zmm::*;
use crate::chacha20_key::ChaCha20Key;
use core::arch::x86_64::*;
use core::arch::x86_64::{
    _mm512_add_epi32 as add, _mm512_rol_epi32, _mm512_shuffle_epi32 as shuffle,
    _mm512_unpackhi_epi32 as unpack_high_32, _mm512_unpackhi_epi64 as unpack_high_64,
    _mm512_unpacklo_epi32 as unpack_low_32, _mm512_unpacklo_epi64 as unpack_low_64,
};

chacha20_rounds!("avx512f,avx512bw");

#[inline]
#[target_feature(enable = "avx512f")]
fn rotate_left_16(words: Vector) -> Vector {
    _mm512_rol_epi32::<16>(words)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rotate_left_12(words: Vector) -> Vector {
    _mm512_rol_epi32::<12>(words)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rotate_left_8(words: Vector) -> Vector {
    _mm512_rol_epi32::<8>(words)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rotate_left_7(words: Vector) -> Vector {
    _mm512_rol_epi32::<7>(words)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn every_word(word: u32) -> Vector {
    _mm512_set1_epi32(word as i32)
}

/// The low and the high words of the counters `low` to `low` + 15.
#[inline]
#[target_feature(enable = "avx512f")]
fn counter_words(low: u64) -> [Vector; 2] {
    let first = _mm512_set1_epi64(low as i64);
    let a = add_low(first, _mm512_set_epi64(13, 12, 9, 8, 5, 4, 1, 0));
    let b = add_low(first, _mm512_set_epi64(15, 14, 11, 10, 7, 6, 3, 2));
    let (a, b) = (_mm512_castsi512_ps(a), _mm512_castsi512_ps(b));
    [
        _mm512_castps_si512(_mm512_shuffle_ps::<0b10_00_10_00>(a, b)),
        _mm512_castps_si512(_mm512_shuffle_ps::<0b11_01_11_01>(a, b)),
    ]
}

/// From a row of four blocks in each register to a block in each.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_lanes([a, b, c, d]: [Vector; 4]) -> [Vector; 4] {
    let (ab_low, ab_high) = (
        _mm512_shuffle_i32x4::<0b01_00_01_00>(a, b),
        _mm512_shuffle_i32x4::<0b11_10_11_10>(a, b),
    );
    let (cd_low, cd_high) = (
        _mm512_shuffle_i32x4::<0b01_00_01_00>(c, d),
        _mm512_shuffle_i32x4::<0b11_10_11_10>(c, d),
    );
    [
        _mm512_shuffle_i32x4::<0b10_00_10_00>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0b11_01_11_01>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0b10_00_10_00>(ab_high, cd_high),
        _mm512_shuffle_i32x4::<0b11_01_11_01>(ab_high, cd_high),
    ]
}
