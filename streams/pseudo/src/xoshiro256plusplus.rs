//! xoshiro256++ 1.0 (Blackman & Vigna, "Scrambled linear pseudorandom number generators", 2021).

use core::fmt;

use rand_core::{SeedableRng, TryRng, utils};

use crate::jump::{self, Modulus};
use crate::rng_trait::infallible_rng;
use crate::splitmix64;

/// The characteristic polynomial of [`step`].
pub(crate) const MODULUS: Modulus<4> = Modulus {
    tail: [
        0x9d11_6f2b_b0f0_f001,
        0x0280_002b_cefd_1a5e,
        0x04b4_edcf_2625_9f85,
        0x0003_c03c_3f3e_cb19,
    ],
};

/// x^(2^128) modulo the characteristic polynomial of [`step`].
pub(crate) const JUMP: [u64; 4] = [
    0x180e_c6d3_3cfd_0aba,
    0xd5a6_1266_f0c9_392c,
    0xa958_2618_e03f_c9aa,
    0x39ab_dc45_29b1_661c,
];

/// x^(2^192) modulo the same polynomial.
pub(crate) const LONG_JUMP: [u64; 4] = [
    0x76e1_5d3e_fefd_cbbf,
    0xc500_4e44_1c52_2fb3,
    0x7771_0069_854e_e241,
    0x3910_9bb0_2acb_e635,
];

/// xoshiro256++ 1.0: 32 bytes of state, period 2^256 - 1.
///
/// It has the words, jumps and seeds of `xoshiro256plusplus.c` and of the crate `rand_xoshiro`.
/// Its authors know no statistical test that it fails.
///
/// `Debug` shows no state. It is not a source of keys:
///
/// ```
/// # use rand_core::SeedableRng;
/// fn sample(generator: &mut impl rand_core::Rng) -> u64 { generator.next_u64() }
/// sample(&mut wellspring_pseudo::Xoshiro256PlusPlus::seed_from_u64(1));
/// ```
///
/// ```compile_fail,E0277
/// # use rand_core::SeedableRng;
/// fn key(generator: &mut impl rand_core::CryptoRng) -> u64 { generator.next_u64() }
/// key(&mut wellspring_pseudo::Xoshiro256PlusPlus::seed_from_u64(1));
/// ```
#[derive(Clone)]
pub struct Xoshiro256PlusPlus {
    words: [u64; 4],
}

impl Xoshiro256PlusPlus {
    /// The generator in a given state; `None` for the all-zero state, from which only zeros follow.
    ///
    /// For memory that was wiped this gives `None`, not a generator of zeros.
    #[inline]
    #[must_use]
    pub const fn from_words(words: [u64; 4]) -> Option<Self> {
        if jump::is_zero(&words) {
            None
        } else {
            Some(Self { words })
        }
    }

    /// Like [`from_words`](Self::from_words), with the state of `seed_from_u64(0)` for all zeros.
    pub(crate) const fn from_any_words(words: [u64; 4]) -> Self {
        match Self::from_words(words) {
            Some(generator) => generator,
            None => Self {
                words: splitmix64::state_words(0),
            },
        }
    }

    /// The state, from which [`from_words`](Self::from_words) continues.
    #[inline]
    #[must_use]
    pub const fn words(&self) -> [u64; 4] {
        self.words
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        // Step first, output second: in the other order `fill` takes 5.3 cycles a word instead of 4.
        let words = self.words;
        self.words = step(words);
        output(words)
    }

    /// Fills `destination` with words in little-endian order.
    ///
    /// Each call starts a new word: the last 1 to 7 bytes are the low bytes of one more word, and the
    /// rest of that word is lost. A [`Stream`](crate::Stream) loses nothing.
    pub fn fill(&mut self, destination: &mut [u8]) {
        let Ok(()) = utils::fill_bytes_via_next_word(destination, || self.try_next_u64());
    }

    /// Jumps over 2^128 words in the time of 256 steps.
    ///
    /// Generators that start one jump apart share no word as long as each yields at most 2^128.
    pub fn jump(&mut self) {
        self.words = jump::ahead(self.words, &JUMP, step);
    }

    /// Jumps over 2^192 words in the time of 256 steps. There are 2^64 such starting points, for
    /// instance one per machine, and each has room for 2^64 [`jump`](Self::jump)s.
    pub fn long_jump(&mut self) {
        self.words = jump::ahead(self.words, &LONG_JUMP, step);
    }

    /// Goes on by `jumps` [jumps](Self::jump) and `words` words, in about 0.1 ms.
    pub fn advance(&mut self, jumps: u64, words: u128) {
        self.words = jump::ahead(self.words, &distance(JUMP, jumps, words), step);
    }
}

/// The polynomial of `jumps` times `jump` and `words` more steps.
pub(crate) fn distance(jump: [u64; 4], jumps: u64, words: u128) -> [u64; 4] {
    let over = MODULUS.power(jump, jumps.into());
    MODULUS.times(over, MODULUS.power_of_x(words))
}

/// The scrambler: the word that a state yields.
#[inline(always)]
pub(crate) fn output([a, _, _, d]: [u64; 4]) -> u64 {
    a.wrapping_add(d).rotate_left(23).wrapping_add(a)
}

/// The linear part: one step of xoshiro256.
#[inline(always)]
pub(crate) fn step([a, b, c, d]: [u64; 4]) -> [u64; 4] {
    let ac = a ^ c;
    let bd = b ^ d;
    [a ^ bd, b ^ ac, ac ^ (b << 17), bd.rotate_left(45)]
}

infallible_rng!(
    Xoshiro256PlusPlus,
    /// The upper half of the next word, as `rand_xoshiro` does.
    fn |rng| (rng.next_u64() >> 32) as u32
);

impl SeedableRng for Xoshiro256PlusPlus {
    type Seed = [u8; 32];

    /// The state is the seed as four little-endian words; 32 zero bytes are mapped to the state of
    /// `seed_from_u64(0)`.
    #[inline]
    fn from_seed(seed: Self::Seed) -> Self {
        Self::from_any_words(utils::read_words(&seed))
    }

    /// The state is the first four outputs of SplitMix64, as Blackman & Vigna recommend.
    fn seed_from_u64(seed: u64) -> Self {
        Self::from_any_words(splitmix64::state_words(seed))
    }
}

impl fmt::Debug for Xoshiro256PlusPlus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Xoshiro256PlusPlus").finish_non_exhaustive()
    }
}
