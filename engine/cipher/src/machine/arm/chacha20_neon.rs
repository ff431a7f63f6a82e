//! ChaCha20 on NEON: six blocks in flight and one in integer registers, then batches of four.

use super::features;
use super::neon::*;
use crate::Prf;
use crate::backend::Implementation;
use crate::machine::vectors::chacha20_rounds::{
    CONSTANTS, LEFT_1, LEFT_2, LEFT_3, chacha20_columns, chacha20_rounds, initial_columns,
};
use crate::machine::vectors::reread::reread;
use crate::portable::chacha20::{double_round, expand, initial_words, store_words};
use crate::schedule::{Row, Schedule};
use core::arch::aarch64::*;
use core::arch::aarch64::{
    vaddq_u32 as add, vdupq_n_u32 as every_word, vzip1q_u32 as unpack_low_32,
    vzip2q_u32 as unpack_high_32,
};

pub(crate) static BACKEND: Implementation = Implementation {
    name: "chacha20-neon",
    prf: Prf::ChaCha20,
    features: features::NEON,
    expand,
    expand_stack_bytes: 256,
    fill: fill_by_eight,
    fill_stack_bytes: 2048,
};

chacha20_rounds!("neon");
chacha20_columns!("neon");

/// Bytes that `eight_blocks` makes.
const EIGHT_BLOCKS_BYTES: usize = 8 * BLOCK_BYTES;

/// Like `fill`, but eight blocks at a time.
///
/// The rounds of four blocks in columns are a chain of instructions that wait for each other. Cores that start four of them
/// in a cycle have time for two blocks in rows beside it: 32 registers hold no more. While six blocks are made, integer
/// units, which have nothing else to do, make two more, one after the other. The rounds are a multiple of four.
#[target_feature(enable = "neon")]
#[inline(never)]
fn fill_by_eight(schedule: &Schedule, rounds: usize, counter: u128, destination: &mut [u8]) {
    let key = schedule.chacha20();
    let mut counter = counter;
    let (eights, rest) = destination.as_chunks_mut();
    for eight in eights {
        eight_blocks(key, rounds, counter, eight);
        counter = counter.wrapping_add(8);
    }
    fill(schedule, rounds, counter, rest);
}

#[inline]
#[target_feature(enable = "neon")]
fn eight_blocks(
    key: &[Row; 2],
    rounds: usize,
    counter: u128,
    destination: &mut [u8; EIGHT_BLOCKS_BYTES],
) {
    let after = counter.wrapping_add(4);
    let mut columns = initial_columns!(key, &counter);
    let mut rows = initial_rows::<2>(key, after);
    let (batch, rest) = destination.split_at_mut(BATCH_BYTES);
    let (mut rest, words) = rest.split_at_mut(2 * BLOCK_BYTES);
    for (number, block) in (6..).zip(words.as_chunks_mut().0) {
        let counter = counter.wrapping_add(number);
        let mut state = initial_words(reread(key), counter);
        for _ in 0..rounds / 4 {
            quarter_rounds(&mut columns);
            double_round(&mut state);
            quarter_rounds(&mut rows);
            turn::<LEFT_3, LEFT_1, LEFT_2, 2>(&mut rows);
            diagonal_rounds(&mut columns);
            double_round(&mut state);
            quarter_rounds(&mut rows);
            turn::<LEFT_1, LEFT_3, LEFT_2, 2>(&mut rows);
        }
        store_words(&state, &initial_words(reread(key), counter), block);
    }
    for (row, first) in columns.iter_mut().zip(initial_columns!(key, &counter)) {
        for (word, first) in row.iter_mut().zip(first) {
            *word = add(*word, first);
        }
        *row = transpose_words(*row);
    }
    store_columns(columns, &mut batch.as_chunks_mut().0[0]);
    let first = initial_rows::<2>(key, after);
    for block in 0..2 {
        for row in 0..4 {
            rest = store_first(add(rows[row][block], first[row][block]), rest);
        }
    }
}

/// Swaps the halves of every word.
#[inline]
#[target_feature(enable = "neon")]
fn rotate_left_16(words: Vector) -> Vector {
    vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(words)))
}

/// Rotates: shifts, and inserts the bits that were shifted out.
#[inline]
#[target_feature(enable = "neon")]
fn rotate_left_12(words: Vector) -> Vector {
    vsriq_n_u32::<20>(vshlq_n_u32::<12>(words), words)
}

/// A lookup of bytes: one instruction.
#[inline]
#[target_feature(enable = "neon")]
fn rotate_left_8(words: Vector) -> Vector {
    let places = first_counters(u128::from_le_bytes([
        3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14,
    ]));
    let bytes = vqtbl1q_u8(vreinterpretq_u8_u32(words), vreinterpretq_u8_u32(places));
    vreinterpretq_u32_u8(bytes)
}

#[inline]
#[target_feature(enable = "neon")]
fn rotate_left_7(words: Vector) -> Vector {
    vsriq_n_u32::<25>(vshlq_n_u32::<7>(words), words)
}

/// The number of each word.
#[inline]
#[target_feature(enable = "neon")]
fn block_numbers() -> Vector {
    first_counters(3 << 96 | 2 << 64 | 1 << 32)
}

/// Turns the four words to the left by one of the constants.
#[inline]
#[target_feature(enable = "neon")]
fn shuffle<const LEFT: i32>(words: Vector) -> Vector {
    match LEFT {
        LEFT_1 => vextq_u32::<1>(words, words),
        LEFT_2 => vextq_u32::<2>(words, words),
        _ => vextq_u32::<3>(words, words),
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn unpack_low_64(a: Vector, b: Vector) -> Vector {
    let (a, b) = (vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b));
    vreinterpretq_u32_u64(vzip1q_u64(a, b))
}

#[inline]
#[target_feature(enable = "neon")]
fn unpack_high_64(a: Vector, b: Vector) -> Vector {
    let (a, b) = (vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b));
    vreinterpretq_u32_u64(vzip2q_u64(a, b))
}

/// One lane a register: the rows are in order as they are.
#[inline]
#[target_feature(enable = "neon")]
fn transpose_lanes(rows: [Vector; 4]) -> [Vector; 4] {
    rows
}
