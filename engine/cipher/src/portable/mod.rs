//! The implementations in plain Rust, for every machine.
//!
//! ```text
//! aes       bitsliced AES-256, four blocks at a time, and its S-box, a circuit
//! chacha20  ChaCha with any number of rounds, one block at a time
//! sha256    the compression function of SHA-256
//! ```
//!
//! No branch and no address depends on the key. All words are read and written as little-endian bytes:
//! the result is the same on big-endian machines.

pub(crate) mod aes;

pub(crate) mod chacha20 {
    //! Generation of ChaCha blocks (RFC 8439, 2.3), one at a time.

    use crate::backend::{Features, Implementation, Row, Schedule};
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
        // Other backends are faster on these processors, and each program has this one.
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return blocks(key, rounds, counter, destination);
        }
        // The compiler makes a slower loop, by a seventh, of a number that it does not know.
        match rounds {
            8 => blocks(key, 8, counter, destination),
            12 => blocks(key, 12, counter, destination),
            _ => blocks(key, 20, counter, destination),
        }
    }

    #[inline(always)]
    fn blocks(key: &[Row; 2], rounds: usize, mut counter: u128, destination: &mut [u8]) {
        for place in destination.chunks_mut(BLOCK_BYTES) {
            let first = initial_words(key, counter);
            let mut state = first;
            for _ in 0..rounds / 2 {
                double_round(&mut state);
            }
            match place.first_chunk_mut() {
                Some(block) => store_words(&state, &first, block),
                None => {
                    let mut last = [0; BLOCK_BYTES];
                    store_words(&state, &first, &mut last);
                    place.copy_from_slice(&last[..place.len()]);
                }
            }
            counter = counter.wrapping_add(1);
        }
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
}

pub(crate) mod sha256 {
    //! The compression function in plain Rust: additions, rotations and Boolean functions of 32-bit words.
    //!
    //! No branch and no address depends on the message.

    use crate::backend::{BLOCK_BYTES, CompressionImplementation, Features, ROUND_CONSTANTS};

    pub(crate) static COMPRESSION: CompressionImplementation = CompressionImplementation {
        name: "sha256-portable",
        features: Features::NONE,
        compress,
        // 64 bytes of the schedule and some spilled variables: 0.3 KiB in all.
        stack_bytes: 1024,
    };

    /// FIPS 180-4, 6.2.2.
    ///
    /// Eight rounds are written out, so that each variable stays in its register: in a loop over rounds all eight would move
    /// up after every round, and 4 KiB took 15.0 us where they took 11.7.
    #[inline(never)]
    fn compress(state: &mut [u32; 8], blocks: &[[u8; BLOCK_BYTES]]) {
        for block in blocks {
            let mut schedule = [[0; 8]; 2];
            for (word, bytes) in schedule
                .as_flattened_mut()
                .iter_mut()
                .zip(block.as_chunks().0)
            {
                *word = u32::from_be_bytes(*bytes);
            }
            let [mut now, mut other] = schedule.each_mut();
            let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
            let (constants, _) = ROUND_CONSTANTS.as_chunks::<8>();
            for (part, constants) in constants.iter().enumerate() {
                let mut input = |t: usize| {
                    if part > 1 {
                        extend(now, other, t);
                    }
                    now[t].wrapping_add(constants[t])
                };
                (d, h) = round([a, b, c, d, e, f, g, h], input(0));
                (c, g) = round([h, a, b, c, d, e, f, g], input(1));
                (b, f) = round([g, h, a, b, c, d, e, f], input(2));
                (a, e) = round([f, g, h, a, b, c, d, e], input(3));
                (h, d) = round([e, f, g, h, a, b, c, d], input(4));
                (g, c) = round([d, e, f, g, h, a, b, c], input(5));
                (f, b) = round([c, d, e, f, g, h, a, b], input(6));
                (e, a) = round([b, c, d, e, f, g, h, a], input(7));
                core::mem::swap(&mut now, &mut other);
            }
            for (word, variable) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                *word = word.wrapping_add(variable);
            }
        }
    }

    /// The two variables that a round changes. They become E and A of the next round.
    #[inline(always)]
    fn round([a, b, c, d, e, f, g, h]: [u32; 8], input: u32) -> (u32, u32) {
        let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = g ^ (e & (f ^ g));
        let first = h
            .wrapping_add(sum1)
            .wrapping_add(choice)
            .wrapping_add(input);
        let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (c & (a ^ b));
        let second = sum0.wrapping_add(majority);
        (d.wrapping_add(first), first.wrapping_add(second))
    }

    /// Puts word `t` + 16 of the schedule in the place of word `t`. Words `t` to `t` + 15 are the rest of `now`, all of
    /// `other` and the start of `now`, which was extended before.
    #[inline(always)]
    fn extend(now: &mut [u32; 8], other: &[u32; 8], t: usize) {
        let word = |at: usize| match at {
            0..8 => now[at],
            8..16 => other[at - 8],
            _ => now[at - 16],
        };
        let (w15, w2) = (word(t + 1), word(t + 14));
        let sigma0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
        let sigma1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
        now[t] = now[t]
            .wrapping_add(sigma0)
            .wrapping_add(word(t + 9))
            .wrapping_add(sigma1);
    }
}
