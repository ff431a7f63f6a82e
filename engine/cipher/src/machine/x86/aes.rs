//! AES-256 in counter mode (FIPS 197): the key schedule, counter mode for any width of register, and a backend for each width.

use crate::KEY_BYTES;
use crate::backend::{Row, Schedule};
use core::arch::x86_64::*;
use core::mem::transmute;

/// The rounds of AES-256, which takes one round key more.
const ROUNDS: usize = 14;

/// Expands `key` to fifteen round keys of 128 bits, a row each; nothing reads the last row.
///
/// SubWord is AESENCLAST on a word copied to all four columns: with equal columns ShiftRows
/// moves nothing, and the round constant is its round key. That takes 4 cycles where
/// AESKEYGENASSIST takes 7 to 13. The prefix sums do not wait for it.
#[target_feature(enable = "aes,ssse3")]
fn expand(key: &[u8; KEY_BYTES]) -> Schedule {
    let halves = key.as_ptr().cast::<__m128i>();
    // SAFETY: 32 bytes can be read from `key`, and the loads ask for no alignment.
    let [mut before, mut last] =
        unsafe { [_mm_loadu_si128(halves), _mm_loadu_si128(halves.add(1))] };
    let mut rows = [row(before); 16];
    rows[1] = row(last);
    // Bytes 13, 14, 15, 12 in each column: RotWord of the last word.
    let rotate = _mm_set1_epi32(0x0c0f_0e0d);
    let (pairs, _) = rows.as_chunks_mut();
    for (index, [even, odd]) in pairs.iter_mut().enumerate().skip(1) {
        let constant = _mm_set1_epi32(1 << (index - 1));
        let substituted = _mm_aesenclast_si128(_mm_shuffle_epi8(last, rotate), constant);
        before = _mm_xor_si128(prefix_sums(before), substituted);
        *even = row(before);
        let copied = _mm_shuffle_epi32::<0xff>(before);
        let substituted = _mm_aesenclast_si128(copied, _mm_setzero_si128());
        last = _mm_xor_si128(prefix_sums(last), substituted);
        *odd = row(last);
    }
    rows[ROUNDS + 1] = 0;
    Schedule::Aes256(rows)
}

fn row(key: __m128i) -> Row {
    // SAFETY: both are 16 bytes, and any bits are a number.
    unsafe { transmute(key) }
}

/// Each word XORed with all the words before it.
#[target_feature(enable = "sse2")]
fn prefix_sums(words: __m128i) -> __m128i {
    let pairs = _mm_xor_si128(words, _mm_slli_si128::<4>(words));
    _mm_xor_si128(pairs, _mm_slli_si128::<8>(pairs))
}

/// Counter mode on instructions that do a round of FIPS 197: writes `fill` for one width.
///
/// The module that uses it imports `aes_batches` and what that wants, `reread`, `ROUNDS`, and two instructions under the names
/// `round` and `last_round`.
macro_rules! aes_counter_mode {
    ($features:literal) => {
        aes_batches!($features);

        /// Encrypts `N` registers of counters, the first of them `counters`.
        #[inline]
        #[target_feature(enable = $features)]
        fn encrypt<const N: usize>(keys: &[Row; 16], counters: Vector) -> [Vector; N] {
            let keys = reread(keys);
            let mut states = [counters; N];
            for (index, state) in states.iter_mut().enumerate() {
                *state = xor(add_low(counters, step(index)), every_lane(&keys[0]));
            }
            for key in &keys[1..ROUNDS] {
                for state in &mut states {
                    *state = round(*state, every_lane(key));
                }
            }
            for state in &mut states {
                *state = last_round(*state, every_lane(&keys[ROUNDS]));
            }
            states
        }
    };
}

pub(super) mod ni {
    //! AES-256 in counter mode on AES-NI, one block a register: 8 in flight.

    use super::{ROUNDS, expand};
    use crate::Prf;
    use crate::backend::{Implementation, Row, Schedule};
    use crate::machine::vectors::{aes_batches, reread};
    use crate::machine::x86::features;
    use crate::machine::x86::xmm::*;
    use core::arch::x86_64::{_mm_aesenc_si128 as round, _mm_aesenclast_si128 as last_round};

    pub(crate) static BACKEND: Implementation = Implementation {
        name: "aes256-ni",
        prf: Prf::Aes256,
        features: features::AES,
        expand,
        expand_stack_bytes: 256,
        fill,
        fill_stack_bytes: 0,
    };

    aes_counter_mode!("aes,sse2");
}

pub(super) mod vaes256 {
    //! AES-256 in counter mode on VAES, two blocks a register and 16 in flight: for CPUs with AVX2 and no AVX-512.

    use super::{ROUNDS, expand};
    use crate::Prf;
    use crate::backend::{Implementation, Row, Schedule};
    use crate::machine::vectors::{aes_batches, reread};
    use crate::machine::x86::features;
    use crate::machine::x86::ymm::*;
    use core::arch::x86_64::{
        _mm256_aesenc_epi128 as round, _mm256_aesenclast_epi128 as last_round,
    };

    pub(crate) static BACKEND: Implementation = Implementation {
        name: "aes256-vaes256",
        prf: Prf::Aes256,
        features: features::AES.and(features::VAES).and(features::AVX2),
        expand,
        expand_stack_bytes: 256,
        fill,
        fill_stack_bytes: 0,
    };

    aes_counter_mode!("vaes,avx2");
}

pub(super) mod vaes512 {
    //! AES-256 in counter mode on VAES and AVX-512 (F, BW, DQ, VL), four blocks a register: 32 in flight.

    use super::{ROUNDS, expand};
    use crate::Prf;
    use crate::backend::{Implementation, Row, Schedule};
    use crate::machine::vectors::{aes_batches, reread};
    use crate::machine::x86::features;
    use crate::machine::x86::zmm::*;
    use core::arch::x86_64::{
        _mm512_aesenc_epi128 as round, _mm512_aesenclast_epi128 as last_round,
    };

    pub(crate) static BACKEND: Implementation = Implementation {
        name: "aes256-vaes512",
        prf: Prf::Aes256,
        features: features::AES.and(features::VAES).and(features::AVX512),
        expand,
        expand_stack_bytes: 256,
        fill,
        fill_stack_bytes: 0,
    };

    aes_counter_mode!("vaes,avx512f,avx512bw,avx512vl");
}
