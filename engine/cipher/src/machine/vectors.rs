//! The common part of implementations on vector instructions, as macros over one width of register.
//!
//! ```text
//! aes_batches      generation of encrypted counters
//! chacha20_rounds  generation of ChaCha blocks
//! reread           keeps keys off the stack
//! ```

use crate::backend::Row;
use core::arch::asm;

// Keeps keys off the stack.

/// The same reference. The compiler must read again what it read through it before.
///
/// A loop over batches would otherwise keep the widened keys in registers, find too few of them,
/// and spill the keys to the stack, where nothing wipes them. Reading them again for each batch
/// costs a load that broadcasts for free beside eight instructions of a round.
#[inline]
pub(crate) fn reread<T>(secret: &T) -> &T {
    let mut place: *const T = secret;
    // SAFETY: no instruction at all; the pointer comes out as it went in, with its provenance.
    unsafe {
        asm!("/* {0} */", inout(reg) place, options(readonly, nostack, preserves_flags));
        &*place
    }
}

// Counter-mode generation on AES instructions, for any machine and width of register.

/// Writes `fill` for one width.
///
/// The module that uses it imports `Schedule`, `Row` and the functions of the width, from `x86/mod.rs` for example. It
/// defines `encrypt::<N>`: `N` registers of encrypted counters, starting with its argument.
macro_rules! aes_batches {
    ($features:literal) => {
        /// Overwrites `destination` with the encrypted counters from `counter` on; the low half of
        /// the counter must not wrap before the last block.
        ///
        /// A round takes 3 to 4 cycles, and one or two start in each: eight registers in flight
        /// hide that. After the batches of eight, batches of 4, 2 and 1 serve the rest, so that
        /// few blocks are made and not used; none waits for another, and the CPU overlaps them.
        #[target_feature(enable = $features)]
        #[inline(never)]
        fn fill(schedule: &Schedule, _: usize, counter: u128, destination: &mut [u8]) {
            let keys = schedule.aes256();
            let mut counters = first_counters(counter);
            let rest = batches::<8>(keys, &mut counters, destination);
            let rest = batches::<4>(keys, &mut counters, rest);
            let mut rest = batches::<2>(keys, &mut counters, rest);
            while !rest.is_empty() {
                let [vector] = encrypt(keys, counters);
                let (now, after) = rest.split_at_mut(VECTOR_BYTES.min(rest.len()));
                match <&mut [u8; VECTOR_BYTES]>::try_from(&mut *now) {
                    Ok(whole) => store(vector, whole),
                    Err(_) => store_part(vector, now),
                }
                counters = add_low(counters, step(1));
                rest = after;
            }
            wipe_registers();
        }

        /// Fills as much of `destination` as whole batches of `N` registers take; returns the rest.
        #[inline]
        #[target_feature(enable = $features)]
        fn batches<'a, const N: usize>(
            keys: &[Row; 16],
            counters: &mut Vector,
            destination: &'a mut [u8],
        ) -> &'a mut [u8] {
            let batch_bytes = N * VECTOR_BYTES;
            let whole = destination.len() - destination.len() % batch_bytes;
            let (now, rest) = destination.split_at_mut(whole);
            for batch in now.chunks_exact_mut(batch_bytes) {
                let encrypted = encrypt::<N>(keys, *counters);
                for (place, vector) in batch.as_chunks_mut().0.iter_mut().zip(encrypted) {
                    store(vector, place);
                }
                *counters = add_low(*counters, step(N));
            }
            rest
        }
    };
}

// Generation of ChaCha blocks (RFC 8439, 2.3), for any machine and width of register.
//
// The number of rounds is a parameter: 20 for secrets, 8 and 12 for numbers that are not secret.

/// The first row of every state.
pub(crate) static CONSTANTS: Row = u128::from_le_bytes(*b"expand 32-byte k");

/// The constants with which `shuffle` turns the four words of a lane to the left.
pub(crate) const LEFT_1: i32 = 0b00_11_10_01;
pub(crate) const LEFT_2: i32 = 0b01_00_11_10;
pub(crate) const LEFT_3: i32 = 0b10_01_00_11;

/// The state before the rounds, a register for each word, read from the key and the counter each time. The low word of the
/// counter must not wrap within the batch.
///
/// A function that is not inlined would return the key by the stack, where nothing wipes it.
macro_rules! initial_columns {
    ($key:expr, $counter:expr) => {{
        let [upper, lower] = reread($key);
        let mut last = every_word_of(reread($counter));
        last[0] = add(last[0], block_numbers());
        [
            every_word_of(&CONSTANTS),
            every_word_of(upper),
            every_word_of(lower),
            last,
        ]
    }};
}

/// Writes the rounds and `fill_rest` for one width.
///
/// The module that uses it imports `Schedule`, `Row`, `reread` and the functions of the width, from `x86/mod.rs` for
/// example. It defines ChaCha20's own functions: `add`, `rotate_left_16`, `_12`, `_8` and `_7`, `every_word`, `block_numbers` (0,
/// 1, 2 and so on), `shuffle` (of the words of each lane), `unpack_{low,high}_{32,64}` and `transpose_lanes`.
///
/// States are arranged in two ways. In `columns` a register holds one word of many blocks: no
/// shuffles in the rounds, but batches of a fixed size only. In `rows` each lane of a register
/// holds a row of one block: three shuffles beside the twelve instructions of a quarter round, but
/// any number of blocks. It serves the rest after the batches, and all small requests.
macro_rules! chacha20_rounds {
    ($features:literal) => {
        const BLOCK_BYTES: usize = 64;

        /// Blocks in the lanes of one register, 128 bits each.
        const LANES: usize = VECTOR_BYTES / 16;

        /// Bytes of the blocks in one register a row.
        const GROUP_BYTES: usize = LANES * BLOCK_BYTES;

        /// Bytes of a batch of columns: a block for each 32-bit word of a register.
        const BATCH_BYTES: usize = VECTOR_BYTES / 4 * BLOCK_BYTES;

        /// Overwrites `destination`, less than a batch, with the blocks of `rounds` rounds from `counter` on. The low word
        /// of the counter must not wrap before the last block.
        #[inline]
        #[target_feature(enable = $features)]
        fn fill_rest(key: &[Row; 2], rounds: usize, counter: u128, destination: &mut [u8]) {
            match destination.len().div_ceil(GROUP_BYTES) {
                0 => {}
                1 => rows::<1>(key, rounds, counter, destination),
                2 => rows::<2>(key, rounds, counter, destination),
                _ => rows::<4>(key, rounds, counter, destination),
            }
        }

        /// The four rows of `N` states side by side.
        type Rows<const N: usize> = [[Vector; N]; 4];

        /// RFC 8439, 2.1, down every column; `N` at a time, as each alone is a chain of 12
        /// instructions that wait for each other.
        #[inline]
        #[target_feature(enable = $features)]
        fn quarter_rounds<const N: usize>([a, b, c, d]: &mut Rows<N>) {
            for i in 0..N {
                a[i] = add(a[i], b[i]);
                d[i] = rotate_left_16(xor(d[i], a[i]));
            }
            for i in 0..N {
                c[i] = add(c[i], d[i]);
                b[i] = rotate_left_12(xor(b[i], c[i]));
            }
            for i in 0..N {
                a[i] = add(a[i], b[i]);
                d[i] = rotate_left_8(xor(d[i], a[i]));
            }
            for i in 0..N {
                c[i] = add(c[i], d[i]);
                b[i] = rotate_left_7(xor(b[i], c[i]));
            }
        }

        /// Quarter rounds down the diagonals: row r turned left by r words, the diagonals are columns.
        #[inline]
        #[target_feature(enable = $features)]
        fn diagonal_rounds(state: &mut Rows<4>) {
            let [a, [b0, b1, b2, b3], [c0, c1, c2, c3], [d0, d1, d2, d3]] = *state;
            *state = [a, [b1, b2, b3, b0], [c2, c3, c0, c1], [d3, d0, d1, d2]];
            quarter_rounds(state);
            let [a, [b1, b2, b3, b0], [c2, c3, c0, c1], [d3, d0, d1, d2]] = *state;
            *state = [a, [b0, b1, b2, b3], [c0, c1, c2, c3], [d0, d1, d2, d3]];
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn every_word_of(row: &Row) -> [Vector; 4] {
            let mut vectors = [zero(); 4];
            for (vector, word) in vectors.iter_mut().zip(row.to_le_bytes().as_chunks().0) {
                *vector = every_word(u32::from_le_bytes(*word));
            }
            vectors
        }

        /// Transposes the 4 by 4 words of each lane.
        #[inline]
        #[target_feature(enable = $features)]
        fn transpose_words([a, b, c, d]: [Vector; 4]) -> [Vector; 4] {
            let (ab_low, ab_high) = (unpack_low_32(a, b), unpack_high_32(a, b));
            let (cd_low, cd_high) = (unpack_low_32(c, d), unpack_high_32(c, d));
            [
                unpack_low_64(ab_low, cd_low),
                unpack_high_64(ab_low, cd_low),
                unpack_low_64(ab_high, cd_high),
                unpack_high_64(ab_high, cd_high),
            ]
        }

        /// Fills `destination`, at most `GROUPS` times `LANES` blocks, a register for each row.
        #[inline]
        #[target_feature(enable = $features)]
        fn rows<const GROUPS: usize>(
            key: &[Row; 2],
            rounds: usize,
            counter: u128,
            destination: &mut [u8],
        ) {
            let mut state = initial_rows::<GROUPS>(key, counter);
            for _ in 0..rounds / 2 {
                quarter_rounds(&mut state);
                // Row b is the last to be ready: it stays, and the diagonals become columns by
                // turning the others against it, left by 3, 1 and 2 words; then back.
                turn::<LEFT_3, LEFT_1, LEFT_2, GROUPS>(&mut state);
                quarter_rounds(&mut state);
                turn::<LEFT_1, LEFT_3, LEFT_2, GROUPS>(&mut state);
            }
            let first = initial_rows::<GROUPS>(key, counter);
            let mut rest = destination;
            for group in 0..GROUPS {
                let row = |r: usize| add(state[r][group], first[r][group]);
                for vector in transpose_lanes([row(0), row(1), row(2), row(3)]) {
                    rest = store_first(vector, rest);
                }
            }
        }

        /// Turns the words of rows a, c and d within every lane.
        #[inline]
        #[target_feature(enable = $features)]
        fn turn<const A: i32, const C: i32, const D: i32, const N: usize>(
            [a, _, c, d]: &mut Rows<N>,
        ) {
            for i in 0..N {
                a[i] = shuffle::<A>(a[i]);
                c[i] = shuffle::<C>(c[i]);
                d[i] = shuffle::<D>(d[i]);
            }
        }

        /// The states before the rounds, read from the key each time.
        #[inline]
        #[target_feature(enable = $features)]
        fn initial_rows<const GROUPS: usize>(key: &[Row; 2], counter: u128) -> Rows<GROUPS> {
            let [upper, lower] = reread(key);
            let mut counters = [first_counters(counter); GROUPS];
            for (group, counters) in counters.iter_mut().enumerate() {
                *counters = add_low(*counters, step(group));
            }
            [
                [every_lane(&CONSTANTS); GROUPS],
                [every_lane(upper); GROUPS],
                [every_lane(lower); GROUPS],
                counters,
            ]
        }

        /// Stores as much of a register as `destination` takes; returns the rest of it.
        #[inline]
        #[target_feature(enable = $features)]
        fn store_first(vector: Vector, destination: &mut [u8]) -> &mut [u8] {
            let (now, rest) = destination.split_at_mut(VECTOR_BYTES.min(destination.len()));
            match <&mut [u8; VECTOR_BYTES]>::try_from(&mut *now) {
                Ok(whole) => store(vector, whole),
                Err(_) => store_part(vector, now),
            }
            rest
        }
    };
}

/// Writes `fill` for one width, with the functions of `chacha20_rounds` and `wipe_registers`.
macro_rules! chacha20_columns {
    ($features:literal) => {
        /// Overwrites `destination` with the blocks of `rounds` rounds from `counter` on. The low
        /// word of the counter must not wrap before the last block.
        #[target_feature(enable = $features)]
        #[inline(never)]
        fn fill(schedule: &Schedule, rounds: usize, counter: u128, destination: &mut [u8]) {
            let key = schedule.chacha20();
            let mut counter = counter;
            let (batches, rest) = destination.as_chunks_mut();
            for batch in batches {
                columns(key, rounds, counter, batch);
                counter = counter.wrapping_add((BATCH_BYTES / BLOCK_BYTES) as u128);
            }
            fill_rest(key, rounds, counter, rest);
            wipe_registers();
        }

        /// The blocks of a batch, a register for each of the sixteen words.
        #[inline]
        #[target_feature(enable = $features)]
        fn columns(
            key: &[Row; 2],
            rounds: usize,
            counter: u128,
            destination: &mut [u8; BATCH_BYTES],
        ) {
            let mut state = initial_columns!(key, &counter);
            for _ in 0..rounds / 2 {
                quarter_rounds(&mut state);
                diagonal_rounds(&mut state);
            }
            for (row, first) in state.iter_mut().zip(initial_columns!(key, &counter)) {
                for (word, first) in row.iter_mut().zip(first) {
                    *word = add(*word, first);
                }
                *row = transpose_words(*row);
            }
            store_columns(state, destination);
        }

        /// Stores the blocks of a batch in their order; the words are transposed within the lanes
        /// already, so that register `i` of a row has that row of block 4 l + i in lane l.
        #[inline]
        #[target_feature(enable = $features)]
        fn store_columns([a, b, c, d]: Rows<4>, destination: &mut [u8; BATCH_BYTES]) {
            let (blocks, _) = destination.as_chunks_mut::<BLOCK_BYTES>();
            for i in 0..4 {
                let vectors = transpose_lanes([a[i], b[i], c[i], d[i]]);
                for (lane, vectors) in vectors.as_chunks::<{ 4 / LANES }>().0.iter().enumerate() {
                    let (places, _) = blocks[4 * lane + i].as_chunks_mut();
                    for (place, vector) in places.iter_mut().zip(vectors) {
                        store(*vector, place);
                    }
                }
            }
        }
    };
}

pub(crate) use {aes_batches, chacha20_columns, chacha20_rounds, initial_columns};
