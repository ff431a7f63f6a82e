//! x86-64: its implementations and registers.
//!
//! ```text
//! registers  the instructions that this CPU has; loads, stores and counters for each register width
//! aes        AES-256: the round keys, one schedule for all widths, and counter mode
//! chacha20   ChaCha20
//! sha_ni     the compression function of SHA-256
//! ```
//!
//! A `fill` reads the key and the counter, and stores registers directly in the caller's memory. No
//! branch and no address depends on the key. Every `fill` wipes the registers that it used.

mod aes;
mod chacha20;
mod registers;

use crate::backend::{Backend, Compression, SimdTask, Width};
use crate::portable;
use registers::features::{AVX2, AVX512, of_this_machine};

pub(crate) use registers::features::of_this_machine as features;
pub(crate) use registers::xmm::wipe_registers as wipe_basic_registers;

/// Every backend, the best of each function first.
pub(crate) const BACKENDS: &[Backend] = &[
    Backend(&aes::vaes512::BACKEND),
    Backend(&aes::vaes256::BACKEND),
    Backend(&aes::ni::BACKEND),
    Backend(&portable::aes::BACKEND),
    Backend(&chacha20::avx512::BACKEND),
    Backend(&chacha20::avx2::BACKEND),
    Backend(&chacha20::sse2::BACKEND),
    Backend(&portable::chacha20::BACKEND),
];

/// The backends for a program that asks for no function, the best first.
///
/// A CPU with AVX2 has instructions for AES too, unless a hypervisor hides them. So the backends of ChaCha20 for wider
/// registers are not here. Miri runs no instructions of x86-64: it takes the last.
pub(crate) const BEST: &[Backend] = &[
    Backend(&aes::vaes512::BACKEND),
    Backend(&aes::vaes256::BACKEND),
    Backend(&aes::ni::BACKEND),
    Backend(&chacha20::sse2::BACKEND),
    Backend(&portable::chacha20::BACKEND),
];

/// Every compression function, the fastest first.
pub(crate) const COMPRESSIONS: &[Compression] = &[
    Compression(&sha_ni::COMPRESSION),
    Compression(&portable::sha256::COMPRESSION),
];

/// Wipes every vector register that this CPU has: a memory copy of the C library takes the widest.
#[inline]
pub(crate) fn wipe_all_registers() {
    if has_width(Width::Avx512) {
        // SAFETY: the CPU has AVX-512.
        unsafe { registers::zmm::wipe_registers() }
    } else if has_width(Width::Avx2) {
        // SAFETY: the CPU has AVX2.
        unsafe { registers::ymm::wipe_registers() }
    } else {
        registers::xmm::wipe_registers();
    }
}

/// Whether this CPU and its operating system have the registers.
#[inline]
pub(crate) fn has_width(width: Width) -> bool {
    match width {
        Width::Avx512 => of_this_machine().contain(AVX512),
        Width::Avx2 => of_this_machine().contain(AVX2),
        Width::Portable => true,
    }
}

/// Does `task` as compiled for `width`.
///
/// # Safety
///
/// This CPU must have the width.
#[inline]
pub(crate) unsafe fn run_at<T: SimdTask>(width: Width, task: T) -> T::Output {
    match width {
        // SAFETY: the caller knows that the CPU has the instructions, which are part of the width.
        Width::Avx512 => unsafe { run_avx512(task) },
        // SAFETY: as above.
        Width::Avx2 => unsafe { run_avx2(task) },
        Width::Portable => task.run(),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512<T: SimdTask>(task: T) -> T::Output {
    task.run()
}

#[target_feature(enable = "avx2")]
fn run_avx2<T: SimdTask>(task: T) -> T::Output {
    task.run()
}

mod sha_ni {
    //! SHA-256 by the SHA instructions.
    //!
    //! After Gulley, Gopal, Yap, Feghali, Guilford and Wolrich, "Intel SHA Extensions" (Intel, 2013). SHA256RNDS2
    //! does two rounds on the state in two registers, words A B E F and C D G H. Twelve registers are
    //! enough: nothing goes to the stack.

    use super::registers::features;
    use crate::backend::{BLOCK_BYTES, CompressionImplementation, ROUND_CONSTANTS};
    use core::arch::x86_64::*;

    pub(crate) static COMPRESSION: CompressionImplementation = CompressionImplementation {
        name: "sha256-ni",
        features: features::SHA,
        compress,
        // It keeps all in registers: this is for what a memory copy may use.
        stack_bytes: 256,
    };

    /// Compresses `blocks` into `state`.
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    #[inline(never)]
    fn compress(state: &mut [u32; 8], blocks: &[[u8; BLOCK_BYTES]]) {
        let [mut abef, mut cdgh] = load_state(state);
        for block in blocks {
            let before = [abef, cdgh];
            let mut schedule = load_block(block);
            for (i, &words) in schedule.iter().enumerate() {
                four_rounds(&mut abef, &mut cdgh, words, 4 * i);
            }
            for first in [16, 32, 48] {
                for i in 0..4 {
                    schedule[i] = next_words(
                        schedule[i],
                        schedule[(i + 1) % 4],
                        schedule[(i + 2) % 4],
                        schedule[(i + 3) % 4],
                    );
                    four_rounds(&mut abef, &mut cdgh, schedule[i], first + 4 * i);
                }
            }
            abef = _mm_add_epi32(abef, before[0]);
            cdgh = _mm_add_epi32(cdgh, before[1]);
        }
        store_state(state, abef, cdgh);
    }

    /// Rounds `first` to `first` + 3 with four words of the schedule.
    #[inline]
    #[target_feature(enable = "sha,sse2")]
    fn four_rounds(abef: &mut __m128i, cdgh: &mut __m128i, words: __m128i, first: usize) {
        let constants = ROUND_CONSTANTS[first..].as_chunks::<4>().0[0];
        // SAFETY: 16 bytes can be read, and the load asks for no alignment.
        let constants = unsafe { _mm_loadu_si128(constants.as_ptr().cast()) };
        let sums = _mm_add_epi32(words, constants);
        // Two rounds make new A B E F from the old ones, which become C D G H.
        *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sums);
        *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_unpackhi_epi64(sums, sums));
    }

    /// The four words of the schedule after the sixteen in `a`, `b`, `c` and `d`.
    #[inline]
    #[target_feature(enable = "sha,ssse3")]
    fn next_words(a: __m128i, b: __m128i, c: __m128i, d: __m128i) -> __m128i {
        let seven_before = _mm_alignr_epi8::<4>(d, c);
        _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(a, b), seven_before), d)
    }

    /// The sixteen big-endian words of a block.
    #[inline]
    #[target_feature(enable = "ssse3")]
    fn load_block(block: &[u8; BLOCK_BYTES]) -> [__m128i; 4] {
        let reverse_words = _mm_set_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
        let mut words = [reverse_words; 4];
        for (words, bytes) in words.iter_mut().zip(block.as_chunks::<16>().0) {
            // SAFETY: 16 bytes can be read, and the load asks for no alignment.
            let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
            *words = _mm_shuffle_epi8(bytes, reverse_words);
        }
        words
    }

    /// From words in order, A in the lowest place, to A B E F and C D G H with A and C in the highest.
    #[inline]
    #[target_feature(enable = "sse4.1,ssse3")]
    fn load_state(state: &[u32; 8]) -> [__m128i; 2] {
        let halves = state.as_ptr().cast::<__m128i>();
        // SAFETY: 32 bytes can be read from `state`, and the loads ask for no alignment.
        let [dcba, hgfe] = unsafe { [_mm_loadu_si128(halves), _mm_loadu_si128(halves.add(1))] };
        let cdab = _mm_shuffle_epi32::<0b10_11_00_01>(dcba);
        let efgh = _mm_shuffle_epi32::<0b00_01_10_11>(hgfe);
        [
            _mm_alignr_epi8::<8>(cdab, efgh),
            _mm_blend_epi16::<0b1111_0000>(efgh, cdab),
        ]
    }

    /// Back to words in order.
    #[inline]
    #[target_feature(enable = "sse4.1,ssse3")]
    fn store_state(state: &mut [u32; 8], abef: __m128i, cdgh: __m128i) {
        let feba = _mm_shuffle_epi32::<0b00_01_10_11>(abef);
        let dchg = _mm_shuffle_epi32::<0b10_11_00_01>(cdgh);
        let halves = state.as_mut_ptr().cast::<__m128i>();
        // SAFETY: `state` is 32 bytes to write, and the stores ask for no alignment.
        unsafe {
            _mm_storeu_si128(halves, _mm_blend_epi16::<0b1111_0000>(feba, dchg));
            _mm_storeu_si128(halves.add(1), _mm_alignr_epi8::<8>(dchg, feba));
        }
    }
}
