//! ChaCha20 on SSE2: batches of four blocks.

use super::features;
use super::xmm::*;
use crate::Prf;
use crate::backend::Implementation;
use crate::machine::vectors::chacha20_rounds::{
    CONSTANTS, LEFT_1, LEFT_2, LEFT_3, chacha20_columns, chacha20_rounds, initial_columns,
};
use crate::machine::vectors::reread::reread;
use crate::portable::chacha20::expand;
use crate::schedule::{Row, Schedule};
use core::arch::x86_64::*;
use core::arch::x86_64::{
    _mm_add_epi32 as add, _mm_shuffle_epi32 as shuffle, _mm_unpackhi_epi32 as unpack_high_32,
    _mm_unpackhi_epi64 as unpack_high_64, _mm_unpacklo_epi32 as unpack_low_32,
    _mm_unpacklo_epi64 as unpack_low_64,
};

pub(crate) static BACKEND: Implementation = Implementation {
    name: "chacha20-sse2",
    prf: Prf::ChaCha20,
    features: features::SSE2,
    expand,
    expand_stack_bytes: 256,
    fill,
    fill_stack_bytes: 2048,
};

chacha20_rounds!("sse2");
chacha20_columns!("sse2");

/// Swaps the halves of every word.
#[inline]
#[target_feature(enable = "sse2")]
fn rotate_left_16(words: Vector) -> Vector {
    _mm_shufflehi_epi16::<0b10_11_00_01>(_mm_shufflelo_epi16::<0b10_11_00_01>(words))
}

#[inline]
#[target_feature(enable = "sse2")]
fn rotate_left_12(words: Vector) -> Vector {
    _mm_or_si128(_mm_slli_epi32::<12>(words), _mm_srli_epi32::<20>(words))
}

#[inline]
#[target_feature(enable = "sse2")]
fn rotate_left_8(words: Vector) -> Vector {
    _mm_or_si128(_mm_slli_epi32::<8>(words), _mm_srli_epi32::<24>(words))
}

#[inline]
#[target_feature(enable = "sse2")]
fn rotate_left_7(words: Vector) -> Vector {
    _mm_or_si128(_mm_slli_epi32::<7>(words), _mm_srli_epi32::<25>(words))
}

#[inline]
#[target_feature(enable = "sse2")]
fn every_word(word: u32) -> Vector {
    _mm_set1_epi32(word as i32)
}

/// The number of each word.
#[inline]
#[target_feature(enable = "sse2")]
fn block_numbers() -> Vector {
    _mm_set_epi32(3, 2, 1, 0)
}

/// One lane a register: the rows are in order as they are.
#[inline]
#[target_feature(enable = "sse2")]
fn transpose_lanes(rows: [Vector; 4]) -> [Vector; 4] {
    rows
}
