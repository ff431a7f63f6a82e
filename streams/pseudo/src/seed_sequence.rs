//! NumPy's `SeedSequence`, which NEP 19 freezes: seeds of any quality become good states.
//!
//! It descends from O'Neill's `seed_seq_fe` ("Developing a seed_seq alternative", 2015). NumPy first
//! collects the whole entropy and the whole spawn key, then mixes them. This module keeps the pool
//! alone: mixing takes one word after another, so a longer spawn key is one more word mixed in.

const INPUT_MULTIPLIER: u32 = 0x43b0_d7e5;
const INPUT_FACTOR: u32 = 0x931e_8875;
const OUTPUT_MULTIPLIER: u32 = 0x8b51_f9dd;
const OUTPUT_FACTOR: u32 = 0x58f3_8ded;
const MIX_LEFT: u32 = 0xca01_f9dd;
const MIX_RIGHT: u32 = 0x4973_f715;

/// NumPy's `SeedSequence` with its default pool of 4 words, 128 bits; it takes 20 bytes.
///
/// Two names collide when their pools are equal: among 2^n names with a probability of about
/// 2^(2n - 129).
///
/// ```
/// use wellspring_pseudo::SeedSequence;
///
/// // SeedSequence(12345, spawn_key=(1,)).generate_state(2, np.uint64)
/// let words = SeedSequence::new(12345).child(1).generate_u64();
/// assert_eq!(words, [0x1564_7117_56db_d8a6, 0x1cbe_e5ba_2a67_f95f]);
/// ```
pub type SeedSequence = PooledSeedSequence<4>;

/// NumPy's `SeedSequence(.., pool_size=8)`, 256 bits, for keys of that length; it takes 36 bytes.
///
/// Two names collide when their pools are equal: among 2^n names with a probability of about
/// 2^(2n - 257).
///
/// ```
/// use wellspring_pseudo::WideSeedSequence;
///
/// // SeedSequence(12345, spawn_key=(1,), pool_size=8).generate_state(2, np.uint64)
/// let words = WideSeedSequence::new(12345).child(1).generate_u64();
/// assert_eq!(words, [0xe899_6bcf_1f1b_48cf, 0x4431_a4eb_520c_9169]);
/// ```
pub type WideSeedSequence = PooledSeedSequence<8>;

/// An entropy and a spawn key, mixed into a pool of `POOL_WORDS` words of 32 bits.
///
/// Equal, for every entropy and spawn key, to NumPy's `SeedSequence` with that `pool_size`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PooledSeedSequence<const POOL_WORDS: usize> {
    pool: [u32; POOL_WORDS],
    multiplier: u32,
}

impl<const POOL_WORDS: usize> PooledSeedSequence<POOL_WORDS> {
    /// NumPy's `SeedSequence(entropy)`.
    #[must_use]
    pub const fn new(entropy: u128) -> Self {
        const { assert!(POOL_WORDS >= 4, "the pool must hold 128 bits of entropy") };
        let mut pool = [0; POOL_WORDS];
        let mut i = 0;
        while i < 4 {
            pool[i] = (entropy >> (32 * i)) as u32;
            i += 1;
        }
        Self::from_pool(pool)
    }

    /// NumPy's `SeedSequence(entropy)` for an entropy of any size, as 32-bit words, the lowest first.
    ///
    /// For NumPy's *sequence* of integers, concatenate their [`coerce`](Self::coerce)d words. Like in
    /// NumPy, words beyond the pool are mixed in as spawn keys are: with a pool of 4 words the
    /// entropy `[a, b, c, d, e]` is the child `e` of the entropy `[a, b, c, d]`.
    #[must_use]
    pub fn from_words(entropy: &[u32]) -> Self {
        let (first, rest) = entropy.split_at(entropy.len().min(POOL_WORDS));
        // NumPy fills up with zeros when a spawn key follows. When none follows, it hashes zeros for
        // the words that are missing. The result is the same.
        let mut pool = [0; POOL_WORDS];
        pool[..first.len()].copy_from_slice(first);
        rest.iter()
            .fold(Self::from_pool(pool), |parent, &word| parent.child(word))
    }

    /// The sequence whose spawn key is longer by `key`, which NumPy's `spawn` returns at index
    /// `key`.
    ///
    /// NumPy breaks elements of 2^32 and above into their [`coerce`](Self::coerce)d words, so that
    /// its `spawn_key=(2**32 + 5,)` and `spawn_key=(5, 1)` are one and the same sequence. Call this
    /// once for each word.
    #[must_use]
    pub const fn child(&self, key: u32) -> Self {
        let Self {
            mut pool,
            mut multiplier,
        } = *self;
        let mut i = 0;
        while i < POOL_WORDS {
            pool[i] = mix(pool[i], hash(key, &mut multiplier, INPUT_FACTOR));
            i += 1;
        }
        Self { pool, multiplier }
    }

    /// NumPy's `generate_state(N, np.uint32)`.
    #[must_use]
    pub const fn generate_u32<const N: usize>(&self) -> [u32; N] {
        let mut multiplier = OUTPUT_MULTIPLIER;
        let mut words = [0; N];
        let mut i = 0;
        while i < N {
            words[i] = hash(self.pool[i % POOL_WORDS], &mut multiplier, OUTPUT_FACTOR);
            i += 1;
        }
        words
    }

    /// NumPy's `generate_state(N, np.uint64)`: each word is two of
    /// [`generate_u32`](Self::generate_u32), the lower half first.
    #[must_use]
    pub const fn generate_u64<const N: usize>(&self) -> [u64; N] {
        let mut multiplier = OUTPUT_MULTIPLIER;
        let mut words = [0; N];
        let mut i = 0;
        while i < 2 * N {
            let half = hash(self.pool[i % POOL_WORDS], &mut multiplier, OUTPUT_FACTOR);
            words[i / 2] |= (half as u64) << (32 * (i % 2));
            i += 1;
        }
        words
    }

    /// The 32-bit words into which NumPy breaks an integer: the lowest first, no leading zeros, one
    /// word for zero.
    pub fn coerce(integer: u128) -> impl Iterator<Item = u32> {
        let significant_bits = u128::BITS - integer.leading_zeros();
        let words = significant_bits.div_ceil(u32::BITS).max(1);
        (0..words).map(move |i| (integer >> (u32::BITS * i)) as u32)
    }

    const fn from_pool(mut pool: [u32; POOL_WORDS]) -> Self {
        let mut multiplier = INPUT_MULTIPLIER;
        let mut i = 0;
        while i < POOL_WORDS {
            pool[i] = hash(pool[i], &mut multiplier, INPUT_FACTOR);
            i += 1;
        }
        // Every word reaches every other one, so that late bits affect early ones.
        let mut pair = 0;
        while pair < POOL_WORDS * POOL_WORDS {
            let (from, to) = (pair / POOL_WORDS, pair % POOL_WORDS);
            if from != to {
                pool[to] = mix(pool[to], hash(pool[from], &mut multiplier, INPUT_FACTOR));
            }
            pair += 1;
        }
        Self { pool, multiplier }
    }
}

/// Hashes a word. The multiplier moves on with each call, so that equal words at different places
/// have different images.
const fn hash(word: u32, multiplier: &mut u32, factor: u32) -> u32 {
    let word = word ^ *multiplier;
    *multiplier = multiplier.wrapping_mul(factor);
    let word = word.wrapping_mul(*multiplier);
    word ^ (word >> 16)
}

const fn mix(left: u32, right: u32) -> u32 {
    let word = left
        .wrapping_mul(MIX_LEFT)
        .wrapping_sub(right.wrapping_mul(MIX_RIGHT));
    word ^ (word >> 16)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_state_is_the_one_numpy_generates() {
        let sequence = SeedSequence::new(12345);
        assert_eq!(
            sequence.generate_u64(),
            [
                0xb5ae_6482_a03d_837c,
                0xbbe2_996f_fa1f_7a2f,
                0x64e3_9a9f_3715_8f94,
                0x3ebb_0f96_a013_fd73,
            ]
        );
    }

    #[test]
    fn a_wide_state_is_the_one_numpy_generates() {
        // SeedSequence(12345, spawn_key=(3, 0, 17), pool_size=8).generate_state(4, np.uint64)
        let name = WideSeedSequence::new(12345).child(3).child(0).child(17);
        assert_eq!(
            name.generate_u64(),
            [
                0x05db_218a_36a2_f709,
                0x2f33_0c3a_6dc0_c7eb,
                0x4748_007c_199f_c80b,
                0x3ae1_57fb_f93d_ab79
            ]
        );
    }

    #[test]
    fn integers_break_into_words_as_in_numpy() {
        let words = |integer| SeedSequence::coerce(integer).collect::<Vec<_>>();
        assert_eq!(words(0), [0]);
        assert_eq!(words(12345), [12345]);
        assert_eq!(words(0xffff_ffff), [0xffff_ffff]);
        assert_eq!(words(0x10_dead_beef), [0xdead_beef, 0x10]);
        assert_eq!(words(1 << 64), [0, 0, 1]);
        assert_eq!(words(u128::MAX), [u32::MAX; 4]);
    }

    proptest! {
        #[test]
        fn an_integer_seeds_as_its_words_do(entropy in any::<u128>(), shift in 0..128u32) {
            let entropy = entropy >> shift;
            let words: Vec<u32> = SeedSequence::coerce(entropy).collect();
            prop_assert_eq!(SeedSequence::from_words(&words), SeedSequence::new(entropy));
        }

        #[test]
        fn wide_words_are_pairs_of_narrow_ones(entropy in any::<u128>(), key in any::<u32>()) {
            let sequence = SeedSequence::new(entropy).child(key);
            let halves: [u32; 10] = sequence.generate_u32();
            let words: [u64; 5] = sequence.generate_u64();
            for (word, half) in words.iter().zip(halves.chunks(2)) {
                prop_assert_eq!(*word, u64::from(half[1]) << 32 | u64::from(half[0]));
            }
        }
    }
}
