//! arm64: its implementations and registers.
//!
//! ```text
//! features  the instructions that this CPU has
//! neon      loads, stores, counters and the wipe of the 128-bit registers
//! aes_ce    AES-256: the round keys and counter mode
//! chacha20_neon
//! sha256_ce the compression function of SHA-256
//! ```
//!
//! A `fill` reads the key and the counter, and stores registers directly in the caller's memory. No
//! branch and no address depends on the key. Every `fill` wipes the registers that it used.
//!
//! All registers have 128 bits, and the compiler uses them everywhere: [`Width::Portable`](crate::Width::Portable) is the
//! only width.

use crate::Backend;
use crate::backend::Compression;
use crate::portable::{aes, chacha20, sha256};

pub(crate) use features::of_this_machine as features;
pub(crate) use neon::wipe_registers as wipe_basic_registers;
pub(crate) use neon::wipe_registers as wipe_all_registers;

/// Every backend, the best of each function first.
pub(crate) const BACKENDS: &[Backend] = &[
    Backend(&aes_ce::BACKEND),
    Backend(&aes::BACKEND),
    Backend(&chacha20_neon::BACKEND),
    Backend(&chacha20::BACKEND),
];

/// The backends for a program that asks for no function, the best first. Miri runs no instructions of arm64: it takes the last.
pub(crate) const BEST: &[Backend] = &[
    Backend(&aes_ce::BACKEND),
    Backend(&chacha20_neon::BACKEND),
    Backend(&chacha20::BACKEND),
];

/// Every compression function, the fastest first.
pub(crate) const COMPRESSIONS: &[Compression] = &[
    Compression(&sha256_ce::COMPRESSION),
    Compression(&sha256::COMPRESSION),
];

mod features {
    //! The instructions that the CPU has and that the operating system announces; asked once.

    use crate::backend::Features;
    use core::sync::atomic::{AtomicU8, Ordering};

    /// The registers of 128 bits, which every CPU that the crate is compiled for has, and Miri has not.
    pub(crate) const NEON: Features = Features(1 << 0);
    /// AESE and AESMC (FEAT_AES).
    pub(crate) const AES: Features = Features(1 << 1);
    /// SHA256H and its like (FEAT_SHA256).
    pub(crate) const SHA256: Features = Features(1 << 2);

    /// Marks the cache as filled.
    const KNOWN: Features = Features(1 << 7);

    static CACHE: AtomicU8 = AtomicU8::new(0);

    /// The features of this machine: one relaxed load, after the system was asked once.
    #[inline]
    pub(crate) fn of_this_machine() -> Features {
        let cached = Features(CACHE.load(Ordering::Relaxed));
        if cached.contain(KNOWN) {
            return cached;
        }
        fill_cache()
    }

    /// Two threads that come here together store the same value.
    #[cold]
    fn fill_cache() -> Features {
        let features = if cfg!(miri) { Features::NONE } else { ask() };
        let features = features.and(KNOWN);
        CACHE.store(features.0, Ordering::Relaxed);
        features
    }

    /// Linux tells each program in its auxiliary vector (`AT_HWCAP`), which the C library keeps. The numbers come from the
    /// kernel's `linux/auxvec.h` and `asm/hwcap.h`.
    #[cfg(target_os = "linux")]
    fn ask() -> Features {
        use core::ffi::c_ulong;

        unsafe extern "C" {
            fn getauxval(kind: c_ulong) -> c_ulong;
        }
        const AT_HWCAP: c_ulong = 16;
        const HWCAP_AES: c_ulong = 1 << 3;
        const HWCAP_SHA2: c_ulong = 1 << 6;

        // SAFETY: the function only looks the value up, and is declared here as in sys/auxv.h.
        let found = unsafe { getauxval(AT_HWCAP) };
        of(found & HWCAP_AES != 0, found & HWCAP_SHA2 != 0)
    }

    /// Elsewhere: what the compiler may use. All Macs have both.
    #[cfg(not(target_os = "linux"))]
    fn ask() -> Features {
        of(cfg!(target_feature = "aes"), cfg!(target_feature = "sha2"))
    }

    fn of(aes: bool, sha256: bool) -> Features {
        let aes = if aes { AES } else { Features::NONE };
        let sha256 = if sha256 { SHA256 } else { Features::NONE };
        NEON.and(aes).and(sha256)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        extern crate std;

        #[test]
        fn the_answers_are_those_of_the_standard_library() {
            let expected = [
                (std::arch::is_aarch64_feature_detected!("neon"), NEON),
                (std::arch::is_aarch64_feature_detected!("aes"), AES),
                (std::arch::is_aarch64_feature_detected!("sha2"), SHA256),
            ];
            for (present, feature) in expected {
                let found = of_this_machine().contain(feature);
                assert_eq!(found, present, "{feature:?}");
            }
        }

        #[test]
        fn the_second_answer_comes_from_the_cache_and_is_the_same() {
            let first = of_this_machine();
            assert!(first.contain(KNOWN));
            assert_eq!(first, of_this_machine());
        }
    }
}

mod neon {
    //! Loads, stores and counters in 128-bit registers (NEON), which every arm64 CPU with floats has.

    use crate::backend::Row;
    pub(crate) use core::arch::aarch64::uint32x4_t as Vector;
    use core::arch::aarch64::*;
    use core::arch::asm;
    use core::ptr;

    pub(crate) const VECTOR_BYTES: usize = size_of::<Vector>();

    /// The same row in every lane.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn every_lane(row: &Row) -> Vector {
        // SAFETY: 16 bytes can be read.
        unsafe { vld1q_u32(ptr::from_ref(row).cast()) }
    }

    /// Consecutive counters, the first of them `counter`.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn first_counters(counter: u128) -> Vector {
        let low = vcreate_u64(counter as u64);
        let high = vcreate_u64((counter >> 64) as u64);
        vreinterpretq_u32_u64(vcombine_u64(low, high))
    }

    /// The vector that `add_low` adds to step counters by `registers` full registers.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn step(registers: usize) -> Vector {
        first_counters(registers as u128)
    }

    /// Adds to the low halves of counters.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn add_low(counters: Vector, step: Vector) -> Vector {
        let (counters, step) = (vreinterpretq_u64_u32(counters), vreinterpretq_u64_u32(step));
        vreinterpretq_u32_u64(vaddq_u64(counters, step))
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn xor(a: Vector, b: Vector) -> Vector {
        veorq_u32(a, b)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn zero() -> Vector {
        vdupq_n_u32(0)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn store(vector: Vector, destination: &mut [u8; VECTOR_BYTES]) {
        // SAFETY: `destination` is 16 bytes to write, and the store asks for no alignment.
        unsafe { vst1q_u8(destination.as_mut_ptr(), vreinterpretq_u8_u32(vector)) }
    }

    /// Stores the first bytes of a register, fewer than all.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn store_part(vector: Vector, destination: &mut [u8]) {
        let mut whole = [0; VECTOR_BYTES];
        store(vector, &mut whole);
        destination.copy_from_slice(&whole[..destination.len()]);
        store(zero(), &mut whole);
        zeroize::optimization_barrier(&whole);
    }

    /// Sets the vector registers to zero: they held keystream and round keys.
    ///
    /// Not registers 8 to 15, whose low halves belong to the caller (AAPCS64, 6.1.2). A function that uses one loads its
    /// low half again before it returns, and that sets the high half to zero.
    #[inline]
    pub(crate) fn wipe_registers() {
        if cfg!(miri) {
            return; // It has no registers.
        }
        // SAFETY: touches no memory, and every register it writes is declared.
        unsafe {
            asm!(
                "movi v0.2d, #0", "movi v1.2d, #0", "movi v2.2d, #0", "movi v3.2d, #0",
                "movi v4.2d, #0", "movi v5.2d, #0", "movi v6.2d, #0", "movi v7.2d, #0",
                "movi v16.2d, #0", "movi v17.2d, #0", "movi v18.2d, #0", "movi v19.2d, #0",
                "movi v20.2d, #0", "movi v21.2d, #0", "movi v22.2d, #0", "movi v23.2d, #0",
                "movi v24.2d, #0", "movi v25.2d, #0", "movi v26.2d, #0", "movi v27.2d, #0",
                "movi v28.2d, #0", "movi v29.2d, #0", "movi v30.2d, #0", "movi v31.2d, #0",
                out("v0") _, out("v1") _, out("v2") _, out("v3") _,
                out("v4") _, out("v5") _, out("v6") _, out("v7") _,
                out("v16") _, out("v17") _, out("v18") _, out("v19") _,
                out("v20") _, out("v21") _, out("v22") _, out("v23") _,
                out("v24") _, out("v25") _, out("v26") _, out("v27") _,
                out("v28") _, out("v29") _, out("v30") _, out("v31") _,
                options(nostack, preserves_flags),
            );
        }
    }
}

mod aes_ce {
    //! AES-256 in counter mode on AESE and AESMC, one block a register: 8 in flight.

    use super::features;
    use super::neon::*;
    use crate::backend::{Implementation, Row, Schedule};
    use crate::machine::vectors::{aes_batches, reread};
    use crate::{KEY_BYTES, Prf};
    use core::arch::aarch64::*;
    use core::mem::transmute;

    pub(crate) static BACKEND: Implementation = Implementation {
        name: "aes256-ce",
        prf: Prf::Aes256,
        features: features::AES,
        expand,
        expand_stack_bytes: 256,
        fill,
        fill_stack_bytes: 0,
    };

    aes_batches!("aes,neon");

    /// Encrypts `N` registers of counters, the first of them `counters`.
    ///
    /// AESE adds the key of a round before SubBytes and ShiftRows, where FIPS 197 adds it after MixColumns. AESMC is behind AESE
    /// on the same register: cores execute the two as one.
    #[inline]
    #[target_feature(enable = "aes,neon")]
    fn encrypt<const N: usize>(keys: &[Row; 16], counters: Vector) -> [Vector; N] {
        let keys = reread(keys);
        let key = |round: usize| vreinterpretq_u8_u32(every_lane(&keys[round]));
        let mut states = [vreinterpretq_u8_u32(counters); N];
        for (index, state) in states.iter_mut().enumerate() {
            *state = vreinterpretq_u8_u32(add_low(counters, step(index)));
        }
        for round in 0..ROUNDS - 1 {
            for state in &mut states {
                *state = vaesmcq_u8(vaeseq_u8(*state, key(round)));
            }
        }
        states.map(|state| {
            let substituted = vaeseq_u8(state, key(ROUNDS - 1));
            vreinterpretq_u32_u8(veorq_u8(substituted, key(ROUNDS)))
        })
    }

    /// The rounds of AES-256, which takes one round key more.
    pub(crate) const ROUNDS: usize = 14;

    /// Expands `key` to fifteen round keys of 128 bits, a row each; nothing reads the last row.
    ///
    /// SubWord is AESE with a key of zero on a word copied to all four columns: with equal columns ShiftRows moves nothing.
    #[target_feature(enable = "aes,neon")]
    pub(crate) fn expand(key: &[u8; KEY_BYTES]) -> Schedule {
        // SAFETY: 32 bytes can be read from `key`.
        let [mut before, mut last] =
            unsafe { [vld1q_u8(key.as_ptr()), vld1q_u8(key.as_ptr().add(16))] };
        let mut rows = [row(before); 16];
        rows[1] = row(last);
        let (pairs, _) = rows.as_chunks_mut();
        for (index, [even, odd]) in pairs.iter_mut().enumerate().skip(1) {
            let constant = vdupq_n_u32(1 << (index - 1));
            // RotWord turns the bytes of a word, which SubWord does not change the places of.
            let substituted = substituted_last_word(last);
            let rotated = vorrq_u32(
                vshrq_n_u32::<8>(substituted),
                vshlq_n_u32::<24>(substituted),
            );
            before = with_prefix_sums(before, veorq_u32(rotated, constant));
            *even = row(before);
            last = with_prefix_sums(last, substituted_last_word(before));
            *odd = row(last);
        }
        rows[ROUNDS + 1] = 0;
        Schedule::Aes256(rows)
    }

    fn row(key: uint8x16_t) -> Row {
        // SAFETY: both are 16 bytes, and any bits are a number.
        unsafe { transmute(key) }
    }

    /// SubWord of the last word, in all four words.
    #[target_feature(enable = "aes,neon")]
    fn substituted_last_word(words: uint8x16_t) -> uint32x4_t {
        let copied = vdupq_laneq_u32::<3>(vreinterpretq_u32_u8(words));
        vreinterpretq_u32_u8(vaeseq_u8(vreinterpretq_u8_u32(copied), vdupq_n_u8(0)))
    }

    /// Each word XORed with all the words before it, and with its word of `sum`.
    #[target_feature(enable = "neon")]
    fn with_prefix_sums(words: uint8x16_t, sum: uint32x4_t) -> uint8x16_t {
        let zero = vdupq_n_u8(0);
        let pairs = veorq_u8(words, vextq_u8::<12>(zero, words));
        let sums = veorq_u8(pairs, vextq_u8::<8>(zero, pairs));
        veorq_u8(sums, vreinterpretq_u8_u32(sum))
    }
}

mod chacha20_neon {
    //! ChaCha20 on NEON: six blocks in flight and one in integer registers, then batches of four.

    use super::features;
    use super::neon::*;
    use crate::Prf;
    use crate::backend::{Implementation, Row, Schedule};
    use crate::machine::vectors::{
        CONSTANTS, LEFT_1, LEFT_2, LEFT_3, chacha20_columns, chacha20_rounds, initial_columns,
        reread,
    };
    use crate::portable::chacha20::{double_round, expand, initial_words, store_words};
    use core::arch::aarch64::{
        vaddq_u32 as add, vdupq_n_u32 as every_word, vzip1q_u32 as unpack_low_32,
        vzip2q_u32 as unpack_high_32, *,
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
}

mod sha256_ce {
    //! SHA-256 by the SHA-256 instructions.
    //!
    //! SHA256H and SHA256H2 do four rounds on the state in two registers, words A to D and E to H. Everything stays in
    //! registers.

    use super::features;
    use crate::backend::{BLOCK_BYTES, CompressionImplementation, ROUND_CONSTANTS};
    use core::arch::aarch64::*;

    pub(crate) static COMPRESSION: CompressionImplementation = CompressionImplementation {
        name: "sha256-ce",
        features: features::SHA256,
        compress,
        // It keeps all in registers: this is for what a memory copy may use.
        stack_bytes: 256,
    };

    #[target_feature(enable = "sha2,neon")]
    #[inline(never)]
    fn compress(state: &mut [u32; 8], blocks: &[[u8; BLOCK_BYTES]]) {
        let (halves, _) = state.as_chunks_mut::<4>();
        // SAFETY: each half is 16 bytes to read.
        let [mut abcd, mut efgh] =
            unsafe { [vld1q_u32(halves[0].as_ptr()), vld1q_u32(halves[1].as_ptr())] };
        for block in blocks {
            let before = [abcd, efgh];
            let mut schedule = load_block(block);
            for (i, &words) in schedule.iter().enumerate() {
                four_rounds(&mut abcd, &mut efgh, words, 4 * i);
            }
            for first in [16, 32, 48] {
                for i in 0..4 {
                    schedule[i] = next_words(
                        schedule[i],
                        schedule[(i + 1) % 4],
                        schedule[(i + 2) % 4],
                        schedule[(i + 3) % 4],
                    );
                    four_rounds(&mut abcd, &mut efgh, schedule[i], first + 4 * i);
                }
            }
            abcd = vaddq_u32(abcd, before[0]);
            efgh = vaddq_u32(efgh, before[1]);
        }
        // SAFETY: each half is 16 bytes to write.
        unsafe {
            vst1q_u32(halves[0].as_mut_ptr(), abcd);
            vst1q_u32(halves[1].as_mut_ptr(), efgh);
        }
    }

    /// Rounds `first` to `first` + 3 with four words of the schedule.
    #[inline]
    #[target_feature(enable = "sha2,neon")]
    fn four_rounds(abcd: &mut uint32x4_t, efgh: &mut uint32x4_t, words: uint32x4_t, first: usize) {
        let constants = ROUND_CONSTANTS[first..].as_chunks::<4>().0[0];
        // SAFETY: 16 bytes can be read.
        let constants = unsafe { vld1q_u32(constants.as_ptr()) };
        let sums = vaddq_u32(words, constants);
        let before = *abcd;
        *abcd = vsha256hq_u32(*abcd, *efgh, sums);
        *efgh = vsha256h2q_u32(*efgh, before, sums);
    }

    /// The four words of the schedule after the sixteen in `a`, `b`, `c` and `d`.
    #[inline]
    #[target_feature(enable = "sha2,neon")]
    fn next_words(a: uint32x4_t, b: uint32x4_t, c: uint32x4_t, d: uint32x4_t) -> uint32x4_t {
        vsha256su1q_u32(vsha256su0q_u32(a, b), c, d)
    }

    /// The sixteen big-endian words of a block.
    #[inline]
    #[target_feature(enable = "neon")]
    fn load_block(block: &[u8; BLOCK_BYTES]) -> [uint32x4_t; 4] {
        let mut words = [vdupq_n_u32(0); 4];
        for (words, bytes) in words.iter_mut().zip(block.as_chunks::<16>().0) {
            // SAFETY: 16 bytes can be read, and the load asks for no alignment.
            let bytes = unsafe { vld1q_u8(bytes.as_ptr()) };
            *words = vreinterpretq_u32_u8(vrev32q_u8(bytes));
        }
        words
    }
}
