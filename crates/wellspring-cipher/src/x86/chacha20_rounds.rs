//! Generation of ChaCha20 blocks (RFC 8439, 2.3), for any width of register.

/// The first row of every state, "expand 32-byte k".
pub(super) const CONSTANTS: [u8; 16] = *b"expand 32-byte k";

/// Writes `fill` for one width.
///
/// The file that uses it brings the vocabulary of the width (`xmm`, `ymm` or `zmm`) and the words
/// of this function: `add`, `rotate_left_16`, `_12`, `_8` and `_7`, `every_word`, `counter_words`,
/// `shuffle` (of the words of each lane), `unpack_{low,high}_{32,64}` and `transpose_lanes`.
///
/// States are arranged in two ways. In `columns` a register holds one word of many blocks: no
/// shuffles in the rounds, but batches of a fixed size only. In `rows` each lane of a register
/// holds a row of one block: two shuffles beside eight other instructions, but any number of
/// blocks. It serves what the batches leave, and all small requests.
macro_rules! chacha20_rounds {
    ($features:literal) => {
        const BLOCK_BYTES: usize = 64;

        /// Blocks in the lanes of one register, 128 bits each.
        const LANES: usize = VECTOR_BYTES / 16;

        /// Bytes of a batch of columns: a block for each 32-bit word of a register.
        const BATCH_BYTES: usize = VECTOR_BYTES / 4 * BLOCK_BYTES;

        /// Overwrites `destination` with the blocks from `counter` on; the low half of the counter
        /// must not wrap before the last block.
        #[target_feature(enable = $features)]
        pub(crate) fn fill(key: &[u8; KEY_BYTES], counter: u128, destination: &mut [u8]) {
            let mut counter = counter;
            let (batches, rest) = destination.as_chunks_mut();
            for batch in batches {
                columns(key, counter, batch);
                counter = counter.wrapping_add((BATCH_BYTES / BLOCK_BYTES) as u128);
            }
            match rest.len().div_ceil(LANES * BLOCK_BYTES) {
                0 => {}
                1 => rows::<1>(key, counter, rest),
                2 => rows::<2>(key, counter, rest),
                _ => rows::<4>(key, counter, rest),
            }
            wipe_registers();
        }

        /// RFC 8439, 2.1, in every word.
        #[inline]
        #[target_feature(enable = $features)]
        fn quarter_round([mut a, mut b, mut c, mut d]: [Vector; 4]) -> [Vector; 4] {
            a = add(a, b);
            d = rotate_left_16(xor(d, a));
            c = add(c, d);
            b = rotate_left_12(xor(b, c));
            a = add(a, b);
            d = rotate_left_8(xor(d, a));
            c = add(c, d);
            b = rotate_left_7(xor(b, c));
            [a, b, c, d]
        }

        /// The blocks of a batch, a register for each of the sixteen words.
        #[inline]
        #[target_feature(enable = $features)]
        fn columns(key: &[u8; KEY_BYTES], counter: u128, destination: &mut [u8; BATCH_BYTES]) {
            let mut state = initial_columns(key, counter);
            for _ in 0..10 {
                for [a, b, c, d] in [
                    [0, 4, 8, 12],
                    [1, 5, 9, 13],
                    [2, 6, 10, 14],
                    [3, 7, 11, 15],
                    [0, 5, 10, 15],
                    [1, 6, 11, 12],
                    [2, 7, 8, 13],
                    [3, 4, 9, 14],
                ] {
                    [state[a], state[b], state[c], state[d]] =
                        quarter_round([state[a], state[b], state[c], state[d]]);
                }
            }
            for (word, first) in state.iter_mut().zip(initial_columns(key, counter)) {
                *word = add(*word, first);
            }
            store_columns(state, destination);
        }

        /// The state before the rounds, read from the key each time.
        #[inline]
        #[target_feature(enable = $features)]
        fn initial_columns(key: &[u8; KEY_BYTES], counter: u128) -> [Vector; 16] {
            let key = reread(key);
            let mut state = [zero(); 16];
            let words = CONSTANTS.as_chunks().0.iter().chain(key.as_chunks().0);
            for (column, word) in state.iter_mut().zip(words) {
                *column = every_word(u32::from_le_bytes(*word));
            }
            [state[12], state[13]] = counter_words(counter as u64);
            state[14] = every_word((counter >> 64) as u32);
            state[15] = every_word((counter >> 96) as u32);
            state
        }

        /// Stores the blocks of a batch in their order.
        ///
        /// Transposing the words within the lanes, four registers at a time, leaves in each lane a
        /// row of one block; the rows of a block are then four registers apart.
        #[inline]
        #[target_feature(enable = $features)]
        fn store_columns(mut state: [Vector; 16], destination: &mut [u8; BATCH_BYTES]) {
            for words in state.as_chunks_mut::<4>().0 {
                *words = transpose_words(*words);
            }
            let (blocks, _) = destination.as_chunks_mut::<BLOCK_BYTES>();
            for block in 0..4 {
                let rows = [
                    state[block],
                    state[4 + block],
                    state[8 + block],
                    state[12 + block],
                ];
                let vectors = transpose_lanes(rows);
                for (lane, vectors) in vectors.as_chunks::<{ 4 / LANES }>().0.iter().enumerate() {
                    let (places, _) = blocks[4 * lane + block].as_chunks_mut();
                    for (place, vector) in places.iter_mut().zip(vectors) {
                        store(*vector, place);
                    }
                }
            }
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
        fn rows<const GROUPS: usize>(key: &[u8; KEY_BYTES], counter: u128, destination: &mut [u8]) {
            let mut states = initial_rows::<GROUPS>(key, counter);
            for _ in 0..10 {
                for state in &mut states {
                    let [a, b, c, d] = quarter_round(*state);
                    // Turn row r left by r words: the diagonals become columns.
                    let (b, c) = (shuffle::<0b00_11_10_01>(b), shuffle::<0b01_00_11_10>(c));
                    *state = [a, b, c, shuffle::<0b10_01_00_11>(d)];
                }
                for state in &mut states {
                    let [a, b, c, d] = quarter_round(*state);
                    let (b, c) = (shuffle::<0b10_01_00_11>(b), shuffle::<0b01_00_11_10>(c));
                    *state = [a, b, c, shuffle::<0b00_11_10_01>(d)];
                }
            }
            let mut rest = destination;
            for (state, first) in states.iter_mut().zip(initial_rows::<GROUPS>(key, counter)) {
                for (row, first) in state.iter_mut().zip(first) {
                    *row = add(*row, first);
                }
                for vector in transpose_lanes(*state) {
                    rest = store_first(vector, rest);
                }
            }
        }

        /// The states before the rounds, read from the key each time.
        #[inline]
        #[target_feature(enable = $features)]
        fn initial_rows<const GROUPS: usize>(
            key: &[u8; KEY_BYTES],
            counter: u128,
        ) -> [[Vector; 4]; GROUPS] {
            let (key_rows, _) = reread(key).as_chunks();
            let [constants, b, c] = [&CONSTANTS, &key_rows[0], &key_rows[1]];
            let counters = first_counters(counter);
            let mut states = [[
                every_lane(constants),
                every_lane(b),
                every_lane(c),
                counters,
            ]; GROUPS];
            for (group, state) in states.iter_mut().enumerate() {
                state[3] = add_low(counters, step(group));
            }
            states
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

pub(super) use chacha20_rounds;
