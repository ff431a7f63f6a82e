//! AES-256 in counter mode (FIPS 197), bitsliced: four blocks in eight words of 64 bits.
//!
//! Word `p` of a state holds bit `p` of all 64 bytes. Within the word the byte of row `r` and column `c`
//! of block `b` is bit 16 r + 4 c + b: a rotation by 16 moves all rows of all blocks. The arrangement
//! comes from Käsper and Schwabe, "Faster and Timing-Attack Resistant AES-GCM" (CHES 2009).
//!
//! ShiftRows is left out, as in Adomnicai and Peyrin, "Fixslicing AES-like Ciphers" (TCHES 2021): after
//! round `i` the state lacks `i` of them. A byte of row `r` is then `i` times `r` columns to the right of
//! its place, and MixColumns fetches the bytes below it from `i` columns further right. Four ShiftRows
//! cancel out, so there are four forms of the round. The round keys are moved alike when they are made.

use crate::backend::{Features, Implementation, Row, Schedule};
use crate::{KEY_BYTES, Prf};

pub(crate) static BACKEND: Implementation = Implementation {
    name: "aes256-portable",
    prf: Prf::Aes256,
    features: Features::NONE,
    expand,
    // Its largest frame is 1.1 KiB on x86-64: three forms of the round keys.
    expand_stack_bytes: 4096,
    fill,
    fill_stack_bytes: 2048,
};

const ROUNDS: usize = 14;
const BLOCK_BYTES: usize = 16;
const BATCH_BLOCKS: usize = 4;

/// The lowest bit of each group of four: block 0.
const FIRST_BLOCK: u64 = 0x1111_1111_1111_1111;

/// The columns of a round key, the rows of a column from the lowest byte up.
type RoundKey = [u32; 4];

/// Four round keys in bitsliced form: the words of a [`State`], two in a row.
type Keys = [Row; 4];

/// Makes the schedule: 256 bytes.
///
/// Four round keys are bitsliced together as if they were four blocks: round key 4 `g` + `b` is "block"
/// `b` of state `g`. It is spread over all four blocks when it is used, so that the keys take
/// a quarter of the memory. The last place is empty.
#[inline(never)]
fn expand(key: &[u8; KEY_BYTES]) -> Schedule {
    let mut keys = round_keys(key);
    for (round, key) in keys.iter_mut().enumerate().take(ROUNDS + 1).skip(1) {
        // The last round key is added to a state whose rows are in place again.
        if round < ROUNDS {
            *key = without_shift_rows(*key, round);
        }
        // Adds the constant that `substitute` omits; MixColumns leaves equal bytes as they are.
        *key = key.map(|column| column ^ u32::from_ne_bytes([COMPLEMENT; 4]));
    }
    let mut rows = [0; 16];
    for (rows, keys) in rows
        .as_chunks_mut::<4>()
        .0
        .iter_mut()
        .zip(keys.as_chunks().0)
    {
        for (row, [low, high]) in rows.iter_mut().zip(slice(keys).as_chunks().0) {
            *row = Row::from(*high) << 64 | Row::from(*low);
        }
    }
    Schedule::Aes256(rows)
}

#[inline(never)]
fn fill(schedule: &Schedule, _: usize, mut counter: u128, destination: &mut [u8]) {
    let keys = schedule.aes256();
    let (batches, rest) = destination.as_chunks_mut();
    for place in batches {
        batch(keys, counter, place);
        counter = counter.wrapping_add(BATCH_BLOCKS as u128);
    }
    if !rest.is_empty() {
        let mut last = [0; BATCH_BLOCKS * BLOCK_BYTES];
        batch(keys, counter, &mut last);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// Encrypts four counters, the first of them `counter`.
fn batch(keys: &[Row; 16], counter: u128, destination: &mut [u8; BATCH_BLOCKS * BLOCK_BYTES]) {
    let (keys, _) = keys.as_chunks();
    let mut blocks = [[0; 4]; BATCH_BLOCKS];
    for (block, step) in blocks.iter_mut().zip(0..) {
        *block = columns(counter.wrapping_add(step));
    }
    let mut state = slice(&blocks);
    add_round_key::<0>(&mut state, &keys[0]);
    for (now, next) in keys.iter().zip(&keys[1..]) {
        four_rounds(&mut state, now, next);
    }
    round::<1>(&mut state, &keys[3]);
    substitute(&mut state);
    shift_rows_twice(&mut state);
    add_round_key::<2>(&mut state, &keys[3]);
    let (places, _) = destination.as_chunks_mut();
    for (place, block) in places.iter_mut().zip(unslice(state)) {
        *place = from_columns(block).to_le_bytes();
    }
}

/// Four rounds, after which the state lacks no ShiftRows. Not inlined: the loop around it would be written out.
#[inline(never)]
fn four_rounds(state: &mut State, now: &Keys, next: &Keys) {
    round::<1>(state, now);
    round::<2>(state, now);
    round::<3>(state, now);
    round::<0>(state, next);
}

/// A round but the last. `NUMBER` is the number of the round modulo 4: how many ShiftRows the state
/// lacks after it, and which of the four round keys in `keys` is its own.
#[inline(always)]
fn round<const NUMBER: u32>(state: &mut State, keys: &Keys) {
    substitute(state);
    mix_columns::<NUMBER>(state);
    add_round_key::<NUMBER>(state, keys);
}

/// Adds round key `NUMBER` of the four to all blocks.
#[inline(always)]
fn add_round_key<const NUMBER: u32>(state: &mut State, keys: &Keys) {
    for (words, row) in state.as_chunks_mut().0.iter_mut().zip(keys) {
        let [first, second] = words;
        *first ^= (*row as u64 >> NUMBER & FIRST_BLOCK) * 0b1111;
        *second ^= ((*row >> 64) as u64 >> NUMBER & FIRST_BLOCK) * 0b1111;
    }
}

/// MixColumns (FIPS 197, 5.1.3) on a state that lacks `SHIFTS` ShiftRows.
///
/// A byte `a` with `b`, `c` and `d` below it becomes 2 (a + b) + b + (c + d).
#[inline(always)]
fn mix_columns<const SHIFTS: u32>(state: &mut State) {
    let below = state.map(fetch::<1, SHIFTS>);
    let mut sums = *state;
    for (sum, below) in sums.iter_mut().zip(below) {
        *sum ^= below;
    }
    // Twice the sums: each bit moves up, and the highest comes back as x^4 + x^3 + x + 1.
    let [s0, s1, s2, s3, s4, s5, s6, s7] = sums;
    let doubled = [s7, s0 ^ s7, s1, s2 ^ s7, s3 ^ s7, s4, s5, s6];
    for (bit, word) in state.iter_mut().enumerate() {
        let two_below = match SHIFTS % 2 {
            0 => fetch::<2, 0>(sums[bit]),
            _ => fetch::<2, 2>(sums[bit]),
        };
        *word = doubled[bit] ^ below[bit] ^ two_below;
    }
}

/// Moves to each byte's position the byte that is `ROWS` rows below it and `COLUMNS` columns to its right.
#[inline(always)]
fn fetch<const ROWS: u32, const COLUMNS: u32>(word: u64) -> u64 {
    let moved = word.rotate_right(16 * ROWS + 4 * COLUMNS);
    if COLUMNS == 0 {
        return moved;
    }
    // The columns at the right end of a row are fetched from its left end, 16 bits before.
    let inside = every_row((1 << (16 - 4 * COLUMNS)) - 1);
    moved & inside | moved.rotate_left(16) & !inside
}

/// ShiftRows (FIPS 197, 5.1.2) done twice: rows 1 and 3 move by two columns, the others stay.
#[inline(always)]
fn shift_rows_twice(state: &mut State) {
    for word in state {
        let differ = (*word ^ *word >> 8) & 0x00ff_0000_00ff_0000;
        *word ^= differ ^ differ << 8;
    }
}

const fn every_row(row: u64) -> u64 {
    row * 0x0001_0001_0001_0001
}

/// From four blocks to a state.
///
/// With the bits of an index into the 512 bits written out (b block, c column, r row, p bit of a byte),
/// words come in as c0 b1 b0 with bits r1 r0 c1 p2 p1 p0 within them, and go out as p2 p1 p0 with
/// bits r1 r0 c1 c0 b1 b0: three exchanges of an index bit between words with one within words.
#[inline(always)]
fn slice(blocks: &[RoundKey; 4]) -> State {
    let mut words = [0; 8];
    for (b, columns) in blocks.iter().enumerate() {
        words[b] = spread(columns[0]) | spread(columns[2]) << 8;
        words[4 + b] = spread(columns[1]) | spread(columns[3]) << 8;
    }
    exchange_index_bits(&mut words);
    words
}

/// From a state to four blocks.
#[inline(always)]
fn unslice(mut state: State) -> [RoundKey; 4] {
    exchange_index_bits(&mut state);
    [0, 1, 2, 3].map(|b| {
        let (even, odd) = (state[b], state[4 + b]);
        [
            gather(even),
            gather(odd),
            gather(even >> 8),
            gather(odd >> 8),
        ]
    })
}

/// Its own inverse.
#[inline(always)]
fn exchange_index_bits(words: &mut State) {
    for low in [0, 2, 4, 6] {
        exchange::<1>(words, low, low + 1, 0x5555_5555_5555_5555);
    }
    for low in [0, 1, 4, 5] {
        exchange::<2>(words, low, low + 2, 0x3333_3333_3333_3333);
    }
    for low in [0, 1, 2, 3] {
        exchange::<4>(words, low, low + 4, 0x0f0f_0f0f_0f0f_0f0f);
    }
}

/// Exchanges the bits of `low` outside `mask` with the bits of `high` inside, `BITS` further down.
#[inline(always)]
fn exchange<const BITS: u32>(words: &mut State, low: usize, high: usize, mask: u64) {
    let differ = (words[high] ^ words[low] >> BITS) & mask;
    words[high] ^= differ;
    words[low] ^= differ << BITS;
}

/// The bytes of a column 16 bits apart.
#[inline(always)]
fn spread(column: u32) -> u64 {
    let wide = u64::from(column);
    let halves = (wide | wide << 16) & 0x0000_ffff_0000_ffff;
    (halves | halves << 8) & 0x00ff_00ff_00ff_00ff
}

/// The inverse of [`spread`]; other bytes of the word do not matter.
#[inline(always)]
fn gather(word: u64) -> u32 {
    let bytes = word & 0x00ff_00ff_00ff_00ff;
    let halves = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
    (halves | halves >> 16) as u32
}

/// The columns of a block whose 16 bytes are a little-endian number.
#[inline(always)]
fn columns(block: u128) -> RoundKey {
    [0, 32, 64, 96].map(|bits| (block >> bits) as u32)
}

#[inline(always)]
fn from_columns(columns: RoundKey) -> u128 {
    columns
        .iter()
        .rev()
        .fold(0, |block, column| block << 32 | u128::from(*column))
}

/// The key schedule (FIPS 197, 5.2), with an unused round key at the end.
fn round_keys(key: &[u8; KEY_BYTES]) -> [RoundKey; 16] {
    let mut words = [0; 64];
    for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    for i in 8..4 * (ROUNDS + 1) {
        let last = words[i - 1];
        let new = match i % 8 {
            // RotWord takes each byte from the row below: the lowest byte is row 0.
            0 => substitute_word(last.rotate_right(8)) ^ 1 << (i / 8 - 1),
            4 => substitute_word(last),
            _ => last,
        };
        words[i] = words[i - 8] ^ new;
    }
    let mut keys = [[0; 4]; 16];
    for (key, words) in keys.iter_mut().zip(words.as_chunks().0) {
        *key = *words;
    }
    keys
}

/// SubWord: bit `p` of each byte goes to the lowest bit of that byte of word `p`.
#[inline(never)]
fn substitute_word(word: u32) -> u32 {
    let mut state = [0; 8];
    for (p, bits) in state.iter_mut().enumerate() {
        *bits = u64::from(word >> p & 0x0101_0101);
    }
    substitute(&mut state);
    let bits = state.iter().enumerate();
    let word = bits.fold(0, |word, (p, bits)| word | (*bits as u32) << p);
    word ^ u32::from_ne_bytes([COMPLEMENT; 4])
}

/// The round key for a state that lacks `shifts` ShiftRows: row `r` is moved right by `shifts` times `r`.
#[inline(always)]
fn without_shift_rows(key: RoundKey, shifts: usize) -> RoundKey {
    let mut moved = [0; 4];
    for (column, word) in moved.iter_mut().enumerate() {
        for row in 0..4 {
            *word |= key[(column + 4 * shifts * row - shifts * row) % 4] & 0xff << (8 * row);
        }
    }
    moved
}

// The S-box of AES as a circuit, for as many bytes at a time as a word has bits.
//
// No table: an index into one depends on the key, and the cache shows it to others.

/// The eight words of a bitsliced state: word `p` holds bit `p` of every byte.
pub(super) type State = [u64; 8];

/// The constant that the circuit omits: XOR each byte with it to have the S-box.
pub(super) const COMPLEMENT: u8 = 0x63;

/// The S-box (FIPS 197, 5.1.1) of every byte, without the XOR with [`COMPLEMENT`].
///
/// The circuit of Boyar, Peralta and Calik, "SLP_AES_113" (81 XOR and 32 AND; its 4 NOT are in the
/// round keys), with their names: `u` goes in with the highest bit first, `s` comes out. The gates are
/// in the order of the crate `aes` 0.9 (MIT OR Apache-2.0), which a scheduler found to need few
/// stores to the stack.
#[inline(always)]
pub(super) fn substitute(state: &mut State) {
    let [u7, u6, u5, u4, u3, u2, u1, u0] = *state;
    let y14 = u3 ^ u5;
    let y13 = u0 ^ u6;
    let y12 = y13 ^ y14;
    let t1 = u4 ^ y12;
    let y15 = t1 ^ u5;
    let t2 = y12 & y15;
    let y6 = y15 ^ u7;
    let y20 = t1 ^ u1;
    let y9 = u0 ^ u3;
    let y11 = y20 ^ y9;
    let t12 = y9 & y11;
    let y7 = u7 ^ y11;
    let y8 = u0 ^ u5;
    let t0 = u1 ^ u2;
    let y10 = y15 ^ t0;
    let y17 = y10 ^ y11;
    let t13 = y14 & y17;
    let t14 = t13 ^ t12;
    let y19 = y10 ^ y8;
    let t15 = y8 & y10;
    let t16 = t15 ^ t12;
    let y16 = t0 ^ y11;
    let y21 = y13 ^ y16;
    let t7 = y13 & y16;
    let y18 = u0 ^ y16;
    let y1 = t0 ^ u7;
    let y4 = y1 ^ u3;
    let t5 = y4 & u7;
    let t6 = t5 ^ t2;
    let t18 = t6 ^ t16;
    let t22 = t18 ^ y19;
    let y2 = y1 ^ u0;
    let t10 = y2 & y7;
    let t11 = t10 ^ t7;
    let t20 = t11 ^ t16;
    let t24 = t20 ^ y18;
    let y5 = y1 ^ u6;
    let t8 = y5 & y1;
    let t9 = t8 ^ t7;
    let t19 = t9 ^ t14;
    let t23 = t19 ^ y21;
    let y3 = y5 ^ y8;
    let t3 = y3 & y6;
    let t4 = t3 ^ t2;
    let t17 = t4 ^ y20;
    let t21 = t17 ^ t14;
    let t26 = t21 & t23;
    let t27 = t24 ^ t26;
    let t31 = t22 ^ t26;
    let t25 = t21 ^ t22;
    let t28 = t25 & t27;
    let t29 = t28 ^ t22;
    let z14 = t29 & y2;
    let z5 = t29 & y7;
    let t30 = t23 ^ t24;
    let t32 = t31 & t30;
    let t33 = t32 ^ t24;
    let t35 = t27 ^ t33;
    let t36 = t24 & t35;
    let t38 = t27 ^ t36;
    let t39 = t29 & t38;
    let t40 = t25 ^ t39;
    let t43 = t29 ^ t40;
    let z3 = t43 & y16;
    let tc12 = z3 ^ z5;
    let z12 = t43 & y13;
    let z13 = t40 & y5;
    let z4 = t40 & y1;
    let tc6 = z3 ^ z4;
    let t34 = t23 ^ t33;
    let t37 = t36 ^ t34;
    let t41 = t40 ^ t37;
    let z8 = t41 & y10;
    let z17 = t41 & y8;
    let t44 = t33 ^ t37;
    let z0 = t44 & y15;
    let z9 = t44 & y12;
    let z10 = t37 & y3;
    let z1 = t37 & y6;
    let tc5 = z1 ^ z0;
    let tc11 = tc6 ^ tc5;
    let z11 = t33 & y4;
    let t42 = t29 ^ t33;
    let t45 = t42 ^ t41;
    let z7 = t45 & y17;
    let tc8 = z7 ^ tc6;
    let z16 = t45 & y14;
    let z6 = t42 & y11;
    let tc16 = z6 ^ tc8;
    let z15 = t42 & y9;
    let tc20 = z15 ^ tc16;
    let tc1 = z15 ^ z16;
    let tc2 = z10 ^ tc1;
    let tc21 = tc2 ^ z11;
    let tc3 = z9 ^ tc2;
    let s0 = tc3 ^ tc16;
    let s3 = tc3 ^ tc11;
    let s1 = s3 ^ tc16;
    let tc13 = z13 ^ tc1;
    let z2 = t33 & u7;
    let tc4 = z0 ^ z2;
    let tc7 = z12 ^ tc4;
    let tc9 = z8 ^ tc7;
    let tc10 = tc8 ^ tc9;
    let tc17 = z14 ^ tc10;
    let s5 = tc21 ^ tc17;
    let tc26 = tc17 ^ tc20;
    let s2 = tc26 ^ z17;
    let tc14 = tc4 ^ tc12;
    let tc18 = tc13 ^ tc14;
    let s6 = tc10 ^ tc18;
    let s7 = z12 ^ tc18;
    let s4 = tc14 ^ s3;
    *state = [s7, s6, s5, s4, s3, s2, s1, s0];
}

#[cfg(test)]
mod tests {
    use super::{COMPLEMENT, substitute};

    /// The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (FIPS 197, 4.2).
    fn product(mut a: u8, b: u8) -> u8 {
        let mut sum = 0;
        for bit in 0..8 {
            sum ^= a * (b >> bit & 1);
            a = (a << 1) ^ (0x1b * (a >> 7));
        }
        sum
    }

    /// FIPS 197, 5.1.1: the inverse, which is the power 254, then the affine map.
    fn by_definition(byte: u8) -> u8 {
        let inverse = (0..254).fold(1, |power, _| product(power, byte));
        (0..5).fold(0x63, |sum, bits| sum ^ inverse.rotate_left(bits))
    }

    #[test]
    fn every_byte_is_substituted_as_fips_197_defines() {
        // 64 bytes at a time, one in each bit of the words.
        for first in [0u8, 64, 128, 192] {
            let mut state = [0u64; 8];
            for place in 0..64 {
                for (bit, word) in state.iter_mut().enumerate() {
                    *word |= u64::from((first + place) >> bit & 1) << place;
                }
            }
            substitute(&mut state);
            for place in 0..64 {
                let bits = state.iter().enumerate();
                let byte = bits.fold(0, |byte, (bit, word)| {
                    byte | ((word >> place & 1) as u8) << bit
                });
                let input = first + place;
                assert_eq!(byte ^ COMPLEMENT, by_definition(input), "{input:#x}");
            }
        }
    }
}
