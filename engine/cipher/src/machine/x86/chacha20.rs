//! ChaCha20: a backend for each width of register.

pub(super) mod sse2 {
    //! ChaCha20 on SSE2: batches of four blocks.

    use crate::Prf;
    use crate::backend::{Implementation, Row, Schedule};
    use crate::machine::vectors::{
        CONSTANTS, LEFT_1, LEFT_2, LEFT_3, chacha20_columns, chacha20_rounds, initial_columns,
        reread,
    };
    use crate::machine::x86::features;
    use crate::machine::x86::xmm::*;
    use crate::portable::chacha20::expand;
    use core::arch::x86_64::{
        _mm_add_epi32 as add, _mm_shuffle_epi32 as shuffle, _mm_unpackhi_epi32 as unpack_high_32,
        _mm_unpackhi_epi64 as unpack_high_64, _mm_unpacklo_epi32 as unpack_low_32,
        _mm_unpacklo_epi64 as unpack_low_64, *,
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
}

pub(super) mod avx2 {
    //! ChaCha20 on AVX2: batches of eight blocks.

    use crate::Prf;
    use crate::backend::{Implementation, Row, Schedule};
    use crate::machine::vectors::{
        CONSTANTS, LEFT_1, LEFT_2, LEFT_3, chacha20_columns, chacha20_rounds, initial_columns,
        reread,
    };
    use crate::machine::x86::features;
    use crate::machine::x86::ymm::*;
    use crate::portable::chacha20::expand;
    use core::arch::asm;
    use core::arch::x86_64::{
        _mm256_add_epi32 as add, _mm256_shuffle_epi32 as shuffle,
        _mm256_unpackhi_epi32 as unpack_high_32, _mm256_unpackhi_epi64 as unpack_high_64,
        _mm256_unpacklo_epi32 as unpack_low_32, _mm256_unpacklo_epi64 as unpack_low_64, *,
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
}

pub(super) mod avx512 {
    //! ChaCha20 on AVX-512: batches of sixteen blocks, rotations in one instruction.
    //!
    //! A batch is 971 vector instructions, and the CPU starts two in a cycle: the bound is 0.47 cycles a byte. On Sapphire Rapids
    //! and its successors a long request takes 0.52.

    use crate::Prf;
    use crate::backend::{Implementation, Row, Schedule};
    use crate::machine::vectors::{
        CONSTANTS, LEFT_1, LEFT_2, LEFT_3, chacha20_rounds, initial_columns, reread,
    };
    use crate::machine::x86::features;
    use crate::machine::x86::zmm::*;
    use crate::portable::chacha20::expand;
    use core::arch::x86_64::{
        _mm512_add_epi32 as add, _mm512_rol_epi32, _mm512_shuffle_epi32 as shuffle,
        _mm512_unpackhi_epi32 as unpack_high_32, _mm512_unpackhi_epi64 as unpack_high_64,
        _mm512_unpacklo_epi32 as unpack_low_32, _mm512_unpacklo_epi64 as unpack_low_64, *,
    };

    pub(crate) static BACKEND: Implementation = Implementation {
        name: "chacha20-avx512",
        prf: Prf::ChaCha20,
        features: features::AVX512,
        expand,
        expand_stack_bytes: 256,
        fill,
        fill_stack_bytes: 0,
    };

    chacha20_rounds!("avx512f,avx512bw");

    /// Overwrites `destination` with the blocks of `rounds` rounds from `counter` on. The low word of the counter must not wrap
    /// before the last block.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
    #[inline(never)]
    fn fill(schedule: &Schedule, rounds: usize, counter: u128, destination: &mut [u8]) {
        let key = schedule.chacha20();
        let (batches, rest) = destination.as_chunks_mut();
        let counter = fill_batches(key, rounds, counter, batches);
        fill_rest(key, rounds, counter, rest);
        wipe_registers();
    }

    /// Fills batches. Returns the counter of the next block.
    ///
    /// The blocks of a request differ in word 12 alone, the low word of the counter. So three of the four quarter rounds of
    /// the first round are made once for all batches. The fourth of the next batch starts before a batch is stored: the
    /// CPU does both at the same time.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
    fn fill_batches(
        key: &[Row; 2],
        rounds: usize,
        first: u128,
        batches: &mut [[u8; BATCH_BYTES]],
    ) -> u128 {
        if batches.is_empty() {
            return first;
        }
        let mut counter = first;
        let mut common = [[0; VECTOR_BYTES]; 4];
        first_round_of_a_block(key, counter, &mut common);
        let mut column = first_quarter_round(key, &counter);
        for batch in batches {
            let mut state = after_first_round(&common, column);
            diagonal_rounds(&mut state);
            for _ in 1..rounds / 2 {
                quarter_rounds(&mut state);
                diagonal_rounds(&mut state);
            }
            let initial = initial_columns!(key, &counter);
            counter = counter.wrapping_add((BATCH_BYTES / BLOCK_BYTES) as u128);
            column = first_quarter_round(key, &counter);
            for row in 0..4 {
                let sums = [0, 1, 2, 3].map(|word| add(state[row][word], initial[row][word]));
                store_row(transpose_words(sums), row, batch);
            }
        }
        // Rounds can be run backwards to the key.
        common.iter_mut().for_each(|row| store(zero(), row));
        zeroize::optimization_barrier(&common);
        counter
    }

    /// Stores the rows of block `counter` after its first round.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
    fn first_round_of_a_block(key: &[Row; 2], counter: u128, rows: &mut [[u8; VECTOR_BYTES]; 4]) {
        let mut state = initial_rows::<1>(key, counter);
        quarter_rounds(&mut state);
        for (row, place) in state.iter().zip(rows) {
            store(row[0], place);
        }
    }

    /// The first column after its quarter round. Only this column differs between the blocks of a request.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
    fn first_quarter_round(key: &[Row; 2], counter: &Row) -> Rows<1> {
        let mut column = initial_columns!(key, counter).map(|[first, ..]| [first]);
        quarter_rounds(&mut column);
        column
    }

    /// The state of a batch after its first round: the first column is its own, every block shares the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
    fn after_first_round(common: &[[u8; VECTOR_BYTES]; 4], column: Rows<1>) -> Rows<4> {
        let mut state = [[zero(); 4]; 4];
        for ((row, [first]), common) in state.iter_mut().zip(column).zip(reread(common)) {
            for (vector, word) in row.iter_mut().zip(common.as_chunks().0) {
                *vector = every_word(u32::from_le_bytes(*word));
            }
            row[0] = first;
        }
        state
    }

    /// Stores a row of a batch: register i has that row of block 4 l + i in lane l.
    ///
    /// Each lane is stored alone. A store leaves the two ports of the rounds free; to shuffle lanes would take one port for 32
    /// cycles of a batch.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn store_row(registers: [Vector; 4], row: usize, batch: &mut [u8; BATCH_BYTES]) {
        let (blocks, _) = batch.as_chunks_mut::<BLOCK_BYTES>();
        for (index, register) in registers.into_iter().enumerate() {
            let lanes = [
                _mm512_castsi512_si128(register),
                _mm512_extracti32x4_epi32::<1>(register),
                _mm512_extracti32x4_epi32::<2>(register),
                _mm512_extracti32x4_epi32::<3>(register),
            ];
            for (lane, words) in lanes.into_iter().enumerate() {
                let place = &mut blocks[4 * lane + index].as_chunks_mut::<16>().0[row];
                // SAFETY: `place` is 16 bytes to write, and the store asks for no alignment.
                unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), words) }
            }
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

    /// The number of each word.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn block_numbers() -> Vector {
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
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
}
