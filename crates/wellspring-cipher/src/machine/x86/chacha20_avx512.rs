//! ChaCha20 on AVX-512: batches of sixteen blocks, rotations in one instruction.

use super::features;
use super::zmm::*;
use crate::Prf;
use crate::backend::{Bulk, Implementation};
use crate::machine::vectors::chacha20_rounds::{
    CONSTANTS, LEFT_1, LEFT_2, LEFT_3, chacha20_rounds, initial_columns,
};
use crate::machine::vectors::reread::reread;
use crate::portable::chacha20::expand;
use crate::schedule::{Row, Schedule};
use core::arch::asm;
use core::arch::x86_64::*;
use core::arch::x86_64::{
    _mm512_add_epi32 as add, _mm512_rol_epi32, _mm512_shuffle_epi32 as shuffle,
    _mm512_unpackhi_epi32 as unpack_high_32, _mm512_unpackhi_epi64 as unpack_high_64,
    _mm512_unpacklo_epi32 as unpack_low_32, _mm512_unpacklo_epi64 as unpack_low_64,
};

pub(crate) static BACKEND: Implementation = Implementation {
    name: "chacha20-avx512",
    prf: Prf::ChaCha20,
    features: features::AVX512,
    expand,
    expand_stack_bytes: 256,
    fill,
    fill_stack_bytes: 0,
    bulk: Some(Bulk {
        // Without optimisation its vectors take 10 KiB and more.
        stack_bytes: if cfg!(debug_assertions) {
            16 << 10
        } else {
            2048
        },
        from_bytes: OVERLAPPED_FROM_BYTES,
        fill: fill_overlapped,
        fill_f32: fill_floats::<32>,
        fill_f64: fill_floats::<64>,
    }),
};

chacha20_rounds!("avx512f,avx512bw");

/// Two batches: from here on the stack is used.
const OVERLAPPED_FROM_BYTES: usize = 2 * BATCH_BYTES;

/// A batch as its rounds leave it: register r has word r of every block.
#[repr(align(64))]
struct Columns([[u8; VECTOR_BYTES]; 16]);

/// The four steps of each of the two stages of a transposition.
const STEPS: usize = 4;

/// The bits of a float where a batch is stored as words of keystream.
const WORDS: usize = 0;

/// Like `fill`, for numbers that are not secret: from two batches on it takes 1.5 KiB of the stack, and a quarter less
/// time with 8 rounds.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
#[inline(never)]
fn fill_overlapped(schedule: &Schedule, rounds: usize, counter: u128, destination: &mut [u8]) {
    let (batches, rest) = destination.as_chunks_mut();
    let counter = overlapped::<WORDS>(schedule.chacha20(), rounds, counter, batches);
    fill(schedule, rounds, counter, rest);
}

/// Fills the whole batches of `destination` with floats of `FLOAT_BITS` bits. Returns the bytes that it filled.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
#[inline(never)]
fn fill_floats<const FLOAT_BITS: usize>(
    schedule: &Schedule,
    rounds: usize,
    counter: u128,
    destination: &mut [u8],
) -> usize {
    let (batches, _) = destination.as_chunks_mut();
    overlapped::<FLOAT_BITS>(schedule.chacha20(), rounds, counter, batches);
    wipe_registers();
    batches.as_flattened().len()
}

/// Fills batches: the rounds of each beside the transposition of the one before. Returns the counter of the next block.
///
/// The 64 shuffles of a transposition run on one port and wait for the rounds of their own batch. `unordered` is
/// aligned, as the destination seldom is: each of its registers is written and read twice.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn overlapped<const FLOAT_BITS: usize>(
    key: &[Row; 2],
    rounds: usize,
    counter: u128,
    batches: &mut [[u8; BATCH_BYTES]],
) -> u128 {
    let mut counter = counter;
    let mut unordered = Columns([[0; VECTOR_BYTES]; 16]);
    for index in 0..batches.len() {
        // The first batch has none before it: it stores zeros in its own place, which it fills later.
        let before = &mut batches[index.saturating_sub(1)];
        let mut state = initial_columns!(key, counter);
        for step in 0..STEPS / 2 {
            quarter_rounds(&mut state);
            order_words(&mut unordered, 2 * step);
            diagonal_rounds(&mut state);
            order_words(&mut unordered, 2 * step + 1);
        }
        for step in 0..STEPS / 2 {
            quarter_rounds(&mut state);
            store_ordered::<FLOAT_BITS>(&unordered, 2 * step, before);
            keep_order::<FLOAT_BITS>(&mut state[0][0]);
            diagonal_rounds(&mut state);
            store_ordered::<FLOAT_BITS>(&unordered, 2 * step + 1, before);
            keep_order::<FLOAT_BITS>(&mut state[0][0]);
        }
        for _ in STEPS..rounds / 2 {
            quarter_rounds(&mut state);
            diagonal_rounds(&mut state);
        }
        let words = state.as_flattened().iter();
        let first = initial_columns!(key, counter);
        for ((word, first), place) in words.zip(first.as_flattened()).zip(&mut unordered.0) {
            store(add(*word, *first), place);
        }
        counter = counter.wrapping_add((BATCH_BYTES / BLOCK_BYTES) as u128);
    }
    if let Some(last) = batches.last_mut() {
        (0..STEPS).for_each(|step| order_words(&mut unordered, step));
        (0..STEPS).for_each(|step| store_ordered::<FLOAT_BITS>(&unordered, step, last));
    }
    counter
}

/// Ties a register of the rounds to what was stored before.
///
/// Without it the compiler puts all stores of floats side by side, and a batch takes a sixth more time.
#[inline]
#[target_feature(enable = "avx512f")]
fn keep_order<const FLOAT_BITS: usize>(words: &mut Vector) {
    if FLOAT_BITS != WORDS {
        // SAFETY: there is no instruction.
        unsafe {
            asm!(
                "/* {0} */",
                inout(zmm_reg) * words,
                options(nostack, preserves_flags)
            );
        }
    }
}

/// The first stage: transposes the words of row `step` within their lanes. Register i of the row then has that row of
/// block 4 l + i in lane l.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn order_words(unordered: &mut Columns, step: usize) {
    if let Some(row) = unordered.0.as_chunks_mut::<4>().0.get_mut(step) {
        let words = transpose_words([load(&row[0]), load(&row[1]), load(&row[2]), load(&row[3])]);
        for (register, words) in row.iter_mut().zip(words) {
            store(words, register);
        }
    }
}

/// The second stage: from register `step` of each row to the blocks 4 l + `step`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn store_ordered<const FLOAT_BITS: usize>(
    unordered: &Columns,
    step: usize,
    batch: &mut [u8; BATCH_BYTES],
) {
    let (blocks, _) = batch.as_chunks_mut::<BLOCK_BYTES>();
    let column = [0, 4, 8, 12].map(|row| row + step);
    let ordered = transpose_lanes([
        load(&unordered.0[column[0]]),
        load(&unordered.0[column[1]]),
        load(&unordered.0[column[2]]),
        load(&unordered.0[column[3]]),
    ]);
    for (place, block) in column.into_iter().zip(ordered) {
        store(in_form::<FLOAT_BITS>(block), &mut blocks[place]);
    }
}

/// A block as it is stored. A float in [0, 1) is the upper 53 of 64 bits of a word times 2^-53, or the upper 24 of 32 times
/// 2^-24. Nothing is rounded.
///
/// Here the three instructions run beside the rounds of the next batch.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn in_form<const FLOAT_BITS: usize>(block: Vector) -> Vector {
    const LAST_OF_53: f64 = 1.0 / (1u64 << 53) as f64;
    const LAST_OF_24: f32 = 1.0 / (1u32 << 24) as f32;
    match FLOAT_BITS {
        64 => {
            let number = _mm512_cvtepi64_pd(_mm512_srli_epi64::<11>(block));
            _mm512_castpd_si512(_mm512_mul_pd(number, _mm512_set1_pd(LAST_OF_53)))
        }
        32 => {
            let number = _mm512_cvtepi32_ps(_mm512_srli_epi32::<8>(block));
            _mm512_castps_si512(_mm512_mul_ps(number, _mm512_set1_ps(LAST_OF_24)))
        }
        _ => block,
    }
}

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
