//! Generation of ChaCha blocks (RFC 8439, 2.3), one at a time.

use crate::backend::Implementation;
use crate::features::Features;
use crate::schedule::{Row, Schedule};
use crate::{KEY_BYTES, Prf};

pub(crate) static BACKEND: Implementation = Implementation {
    name: "chacha20-portable",
    prf: Prf::ChaCha20,
    features: Features::NONE,
    expand,
    expand_stack_bytes: 256,
    fill,
    fill_stack_bytes: 2048,
};

const BLOCK_BYTES: usize = 64;

/// The key as rows 1 and 2 of the state, for the ChaCha backends of all machines.
pub(crate) fn expand(key: &[u8; KEY_BYTES]) -> Schedule {
    let (rows, _) = key.as_chunks();
    Schedule::ChaCha20([rows[0], rows[1]].map(Row::from_le_bytes))
}

/// Overwrites `destination` with the blocks of `rounds` rounds from `counter` on.
#[inline(never)]
fn fill(schedule: &Schedule, rounds: usize, counter: u128, destination: &mut [u8]) {
    let key = schedule.chacha20();
    // The compiler makes a slower loop, by a seventh, of a number that it does not know.
    match rounds {
        8 => blocks::<8>(key, counter, destination),
        12 => blocks::<12>(key, counter, destination),
        _ => blocks::<20>(key, counter, destination),
    }
}

#[inline(always)]
fn blocks<const ROUNDS: usize>(key: &[Row; 2], mut counter: u128, destination: &mut [u8]) {
    let (blocks, rest) = destination.as_chunks_mut();
    for place in blocks {
        block::<ROUNDS>(key, counter, place);
        counter = counter.wrapping_add(1);
    }
    if !rest.is_empty() {
        let mut last = [0; BLOCK_BYTES];
        block::<ROUNDS>(key, counter, &mut last);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// Not inlined: it would be there twice for each number of rounds.
#[inline(never)]
fn block<const ROUNDS: usize>(key: &[Row; 2], counter: u128, destination: &mut [u8; BLOCK_BYTES]) {
    let first = initial_words(key, counter);
    let mut state = first;
    for _ in 0..ROUNDS / 2 {
        double_round(&mut state);
    }
    store_words(&state, &first, destination);
}

/// The state before the rounds.
#[inline(always)]
pub(crate) fn initial_words(key: &[Row; 2], counter: u128) -> [u32; 16] {
    let [upper, lower] = key;
    let constants = Row::from_le_bytes(*b"expand 32-byte k");
    let rows = [constants, *upper, *lower, counter].map(Row::to_le_bytes);
    let mut words = [0; 16];
    let bytes = rows.as_flattened().as_chunks().0;
    for (word, bytes) in words.iter_mut().zip(bytes) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// A round down the columns and one down the diagonals.
#[inline(always)]
pub(crate) fn double_round(state: &mut [u32; 16]) {
    for columns in [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]] {
        quarter_round(state, columns);
    }
    for diagonal in [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]] {
        quarter_round(state, diagonal);
    }
}

/// Stores the block: the sum of `state`, after the rounds, and `first`, the state before them.
#[inline(always)]
pub(crate) fn store_words(state: &[u32; 16], first: &[u32; 16], block: &mut [u8; BLOCK_BYTES]) {
    let (places, _) = block.as_chunks_mut();
    for (place, (word, first)) in places.iter_mut().zip(state.iter().zip(first)) {
        *place = word.wrapping_add(*first).to_le_bytes();
    }
}

/// RFC 8439, 2.1.
#[inline(always)]
fn quarter_round(state: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    state[a] = state[a].wrapping_add(state[b]);
    state[d] = (state[d] ^ state[a]).rotate_left(16);
    state[c] = state[c].wrapping_add(state[d]);
    state[b] = (state[b] ^ state[c]).rotate_left(12);
    state[a] = state[a].wrapping_add(state[b]);
    state[d] = (state[d] ^ state[a]).rotate_left(8);
    state[c] = state[c].wrapping_add(state[d]);
    state[b] = (state[b] ^ state[c]).rotate_left(7);
}
