//! xorshift128+ (Vigna, "Further scramblings of Marsaglia's xorshift generators", 2014).

use core::fmt;

use rand_core::{SeedableRng, TryRng, utils};

use crate::jump::{self, Modulus};
use crate::rng_trait::infallible_rng;
use crate::splitmix64;

/// The characteristic polynomial of [`step`].
pub(crate) const MODULUS: Modulus<2> = Modulus {
    tail: [0x024f_06fa_e9e6_1daf, 0x2844_c5d4_2caf_7db0],
};

/// x^(2^64) modulo the characteristic polynomial of [`step`].
pub(crate) const JUMP: [u64; 2] = [0x8a5c_d789_635d_2dff, 0x121f_d215_5c47_2f96];

/// xorshift128+ with the shifts 23, 18 and 5: 16 bytes of state, period 2^128 - 1.
///
/// This is the generator of Vigna's `xorshift128plus.c`. The Solaris Porting Layer of ZFS (SPL) used
/// an earlier edition of that file, one generator per CPU, for `random_get_pseudo_bytes`. That edition
/// adds the two words *after* the step instead of before it: from the same state, SPL's first word is
/// the second word of this generator. SPL also stored the bytes of each word in reverse order.
///
/// The lowest bit of its words is a linear recurrence of degree 128, and fails tests of binary rank
/// and of linear complexity. Prefer [`Xoshiro256PlusPlus`](crate::Xoshiro256PlusPlus) unless you need
/// the numbers of this generator.
///
/// `Debug` shows no state. It is not a source of keys:
///
/// ```
/// # use rand_core::SeedableRng;
/// fn sample(generator: &mut impl rand_core::Rng) -> u64 { generator.next_u64() }
/// sample(&mut wellspring_pseudo::Xorshift128Plus::seed_from_u64(1));
/// ```
///
/// ```compile_fail,E0277
/// # use rand_core::SeedableRng;
/// fn key(generator: &mut impl rand_core::CryptoRng) -> u64 { generator.next_u64() }
/// key(&mut wellspring_pseudo::Xorshift128Plus::seed_from_u64(1));
/// ```
#[derive(Clone)]
pub struct Xorshift128Plus {
    words: [u64; 2],
}

impl Xorshift128Plus {
    /// The generator in a given state; `None` for the all-zero state, from which only zeros follow.
    ///
    /// For memory that was wiped this gives `None`, not a generator of zeros.
    #[inline]
    #[must_use]
    pub const fn from_words(words: [u64; 2]) -> Option<Self> {
        if jump::is_zero(&words) {
            None
        } else {
            Some(Self { words })
        }
    }

    /// Like [`from_words`](Self::from_words), with the state of `seed_from_u64(0)` for all zeros.
    pub(crate) const fn from_any_words(words: [u64; 2]) -> Self {
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
    pub const fn words(&self) -> [u64; 2] {
        self.words
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [x, y] = self.words;
        self.words = step(self.words);
        x.wrapping_add(y)
    }

    /// Fills `destination` with words in little-endian order.
    ///
    /// Each call starts a new word: the last 1 to 7 bytes are the low bytes of one more word, and the
    /// rest of that word is lost. A [`Stream`](crate::Stream) loses nothing.
    pub fn fill(&mut self, destination: &mut [u8]) {
        let Ok(()) = utils::fill_bytes_via_next_word(destination, || self.try_next_u64());
    }

    /// Jumps over 2^64 words in the time of 128 steps.
    ///
    /// Generators that start one jump apart share no word as long as each yields at most 2^64.
    pub fn jump(&mut self) {
        self.words = jump::ahead(self.words, &JUMP, step);
    }

    /// Goes on by `jumps` [jumps](Self::jump) and `words` words, in about 0.1 ms.
    pub fn advance(&mut self, jumps: u64, words: u128) {
        let polynomial =
            MODULUS.times(MODULUS.power(JUMP, jumps.into()), MODULUS.power_of_x(words));
        self.words = jump::ahead(self.words, &polynomial, step);
    }
}

/// The linear part: one step of Marsaglia's xorshift.
#[inline]
pub(crate) fn step([x, y]: [u64; 2]) -> [u64; 2] {
    let x = x ^ (x << 23);
    [y, x ^ y ^ (x >> 18) ^ (y >> 5)]
}

infallible_rng!(
    Xorshift128Plus,
    /// The upper half of the next word: its lowest bits are the weakest.
    fn |rng| (rng.next_u64() >> 32) as u32
);

impl SeedableRng for Xorshift128Plus {
    type Seed = [u8; 16];

    /// The state is the seed as two little-endian words; sixteen zero bytes are mapped to the state
    /// of `seed_from_u64(0)`.
    #[inline]
    fn from_seed(seed: Self::Seed) -> Self {
        Self::from_any_words(utils::read_words(&seed))
    }

    /// The state is the first two outputs of SplitMix64, as Vigna recommends.
    fn seed_from_u64(seed: u64) -> Self {
        Self::from_any_words(splitmix64::state_words(seed))
    }
}

impl fmt::Debug for Xorshift128Plus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Xorshift128Plus").finish_non_exhaustive()
    }
}
