//! The name of a stream: an algorithm, a seed and a path, which become the words of a state or key.
//!
//! ```text
//! Algorithm              the list of linear generators and functions
//! Path                   numbers, as text 3/0/17
//! PooledSeedSequence     a seed and a path become words, exactly as in NumPy
//! MixedSeed              a seed and a path, mixed for an algorithm
//! Name                   where a stream's words come from, for text and for serde
//! ```

use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

/// Which function or engine makes the bytes of a stream.
///
/// Two kinds: an *engine* steps a state from word to word; a *function of a counter* computes the
/// block of any number from a key. Both reach any byte ([`Stream::at`](crate::Stream::at)). A function
/// does it in the time of one block, an engine in about 0.1 ms. Arrays whose elements are
/// computed one by one ([`Elements`](crate::Elements)) take a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// `xoshiro256++`, a linear generator: see [`Xoshiro256PlusPlus`](crate::Xoshiro256PlusPlus). The
    /// better choice among these.
    Xoshiro256PlusPlus,
    /// `xoshiro256++x16`, sixteen of them side by side: see
    /// [`Xoshiro256PlusPlusX16`](crate::Xoshiro256PlusPlusX16). For streams of many kilobytes: over
    /// four times as fast there, but slower by the word, and slower to begin.
    Xoshiro256PlusPlusX16,
    /// `xorshift128+`, a linear generator: see [`Xorshift128Plus`](crate::Xorshift128Plus).
    Xorshift128Plus,
    /// `philox4x64-10`, a function: see [`philox4x64_10`](crate::philox4x64_10). `numpy.random.Philox`
    /// has the same stream.
    Philox4x64,
    /// `chacha8`, a function: ChaCha with 8 rounds (Bernstein, "ChaCha, a variant of Salsa20", 2008).
    ChaCha8,
    /// `chacha12`, a function: ChaCha with 12 rounds.
    ChaCha12,
    /// `chacha20`, a function: ChaCha with 20 rounds.
    ChaCha20,
    /// `aes256-ctr`, a function: AES-256 (FIPS 197) in counter mode. The fastest on a CPU with AES
    /// instructions, the slowest on one without.
    Aes256Ctr,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 8] = [
        Self::Xoshiro256PlusPlus,
        Self::Xoshiro256PlusPlusX16,
        Self::Xorshift128Plus,
        Self::Philox4x64,
        Self::ChaCha8,
        Self::ChaCha12,
        Self::ChaCha20,
        Self::Aes256Ctr,
    ];

    /// The name on the command line and in reports: the name in the literature, with `x16` for sixteen
    /// lanes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xoshiro256PlusPlus => "xoshiro256++",
            Self::Xoshiro256PlusPlusX16 => "xoshiro256++x16",
            Self::Xorshift128Plus => "xorshift128+",
            Self::Philox4x64 => "philox4x64-10",
            Self::ChaCha8 => "chacha8",
            Self::ChaCha12 => "chacha12",
            Self::ChaCha20 => "chacha20",
            Self::Aes256Ctr => "aes256-ctr",
        }
    }

    /// Whether this is a function of a counter, where every byte costs the same.
    #[must_use]
    pub const fn is_counter_based(self) -> bool {
        match self {
            Self::Xoshiro256PlusPlus | Self::Xoshiro256PlusPlusX16 | Self::Xorshift128Plus => false,
            Self::Philox4x64
            | Self::ChaCha8
            | Self::ChaCha12
            | Self::ChaCha20
            | Self::Aes256Ctr => true,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == text)
            .ok_or(UnknownAlgorithm)
    }
}

/// The text names no [`Algorithm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm;

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of:")?;
        for algorithm in Algorithm::ALL {
            write!(f, " {algorithm}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownAlgorithm {}

/// The most elements a [`Path`] holds.
pub const MAX_DEPTH: usize = 32;

/// The place of a stream in the tree of streams under a seed: numbers from the root, such as job,
/// partition and task.
///
/// As text the elements are decimal numbers with slashes between them, `3/0/17`; the root is `/`.
/// Empty text is an error: otherwise an unset variable in a script would make all tasks read the same
/// stream.
///
/// A number is below 2^32. NumPy breaks a larger one in two, so that different paths name one stream.
/// Write a larger number as two elements, the lower half first.
///
/// ```
/// use wellspring_pseudo::Path;
///
/// let path: Path = "3/0/17".parse()?;
/// assert_eq!(*path, [3, 0, 17]);
/// assert_eq!(path.to_string(), "3/0/17");
/// # Ok::<(), wellspring_pseudo::PathError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Path {
    // Zero from `depth` on: the derived comparison looks at all of them.
    elements: [u32; MAX_DEPTH],
    depth: usize,
}

impl Path {
    /// The path without elements.
    pub const ROOT: Path = Path {
        elements: [0; MAX_DEPTH],
        depth: 0,
    };

    /// The path with these elements.
    ///
    /// # Errors
    ///
    /// [`PathError::TooDeep`] if there are more than [`MAX_DEPTH`].
    pub fn new(elements: &[u32]) -> Result<Self, PathError> {
        let mut path = Self::ROOT;
        for &element in elements {
            path.push(element)?;
        }
        Ok(path)
    }

    /// Appends an element.
    ///
    /// # Errors
    ///
    /// [`PathError::TooDeep`] if there are [`MAX_DEPTH`] already; the path is then left as it was.
    pub fn push(&mut self, element: u32) -> Result<(), PathError> {
        let place = self
            .elements
            .get_mut(self.depth)
            .ok_or(PathError::TooDeep)?;
        *place = element;
        self.depth += 1;
        Ok(())
    }
}

impl Deref for Path {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.elements[..self.depth]
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("/");
        }
        for (i, element) in self.iter().enumerate() {
            let separator = if i == 0 { "" } else { "/" };
            write!(f, "{separator}{element}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({self})")
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        match text {
            "" => return Err(PathError::Empty),
            "/" => return Ok(Self::ROOT),
            _ => (),
        }
        let mut path = Self::ROOT;
        for digits in text.split('/') {
            let element = path.depth + 1;
            // `u32::from_str` accepts a plus sign.
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(PathError::NotANumber { element });
            }
            let number = digits
                .parse()
                .map_err(|_| PathError::TooLarge { element })?;
            path.push(number)?;
        }
        Ok(path)
    }
}

/// The reason why a text or a list of numbers is not a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The text is empty.
    Empty,
    /// An element is empty or has a character other than 0 to 9.
    NotANumber {
        /// Which one, counted from 1.
        element: usize,
    },
    /// An element is 2^32 or above.
    TooLarge {
        /// Which one, counted from 1.
        element: usize,
    },
    /// There are more than [`MAX_DEPTH`] elements.
    TooDeep,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the path is empty; the root is written /"),
            Self::NotANumber { element } => {
                write!(f, "element {element} of the path is not a decimal number")
            }
            Self::TooLarge { element } => {
                write!(f, "element {element} of the path is above {}", u32::MAX)
            }
            Self::TooDeep => write!(f, "the path has more than {MAX_DEPTH} elements"),
        }
    }
}

impl core::error::Error for PathError {}

// NumPy's `SeedSequence`, which NEP 19 freezes: seeds of any quality become good states.
//
// It descends from O'Neill's `seed_seq_fe` ("Developing a seed_seq alternative", 2015). NumPy first
// collects the whole entropy and the whole spawn key, then mixes them. This module keeps the pool
// alone: mixing takes one word after another, so a longer spawn key is one more word mixed in.

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

    /// The sequence whose spawn key is longer by `key`. NumPy's `spawn` returns it at index `key`.
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

/// A seed and a path, mixed into the pool that an algorithm asks for.
///
/// AES-256 and ChaCha take keys of 256 bits, so that their pool has 256 bits as well. The others have
/// NumPy's default pool of 128 bits: the key of Philox has 128 bits, and the streams of the linear
/// generators were fixed with that pool.
#[derive(Clone)]
pub(crate) enum MixedSeed {
    Bits128(SeedSequence),
    Bits256(WideSeedSequence),
}

impl MixedSeed {
    pub(crate) fn new(algorithm: Algorithm, seed: u128, path: &[u32]) -> Self {
        let root = if has_wide_key(algorithm) {
            Self::Bits256(WideSeedSequence::new(seed))
        } else {
            Self::Bits128(SeedSequence::new(seed))
        };
        path.iter().fold(root, |parent, &key| parent.child(key))
    }

    /// The name that has these words as its entropy.
    pub(crate) fn from_words(algorithm: Algorithm, words: [u64; 4]) -> Self {
        let mut halves = [0; 8];
        for (pair, word) in halves.as_chunks_mut().0.iter_mut().zip(words) {
            *pair = [word as u32, (word >> 32) as u32];
        }
        if has_wide_key(algorithm) {
            Self::Bits256(WideSeedSequence::from_words(&halves))
        } else {
            Self::Bits128(SeedSequence::from_words(&halves))
        }
    }

    pub(crate) fn child(&self, key: u32) -> Self {
        match self {
            Self::Bits128(sequence) => Self::Bits128(sequence.child(key)),
            Self::Bits256(sequence) => Self::Bits256(sequence.child(key)),
        }
    }

    /// NumPy's `generate_state(4, np.uint64)`; an algorithm that needs two words takes the first two.
    pub(crate) fn words(&self) -> [u64; 4] {
        match self {
            Self::Bits128(sequence) => sequence.generate_u64(),
            Self::Bits256(sequence) => sequence.generate_u64(),
        }
    }
}

/// Where the words of a stream or of elements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Root {
    /// A seed, as decimal text for serde: few formats have numbers of 128 bits.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "seed", with = "crate::saved::decimal")
    )]
    Seed(u128),
    /// Words that the caller has from a seed sequence of its own.
    #[cfg_attr(feature = "serde", serde(rename = "words"))]
    Words([u64; 4]),
}

/// A root, and the path from it.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) root: Root,
    /// `None`: it is longer than [`MAX_DEPTH`], which no text can say.
    pub(crate) path: Option<Path>,
}

impl Name {
    pub(crate) fn new(seed: u128, path: &[u32]) -> Self {
        let root = Root::Seed(seed);
        let path = Path::new(path).ok();
        Self { root, path }
    }

    pub(crate) fn from_words(words: [u64; 4]) -> Self {
        let root = Root::Words(words);
        let path = Some(Path::ROOT);
        Self { root, path }
    }

    pub(crate) fn child(&self, key: u32) -> Self {
        let mut path = self.path.clone();
        let is_full = path.as_mut().is_some_and(|path| path.push(key).is_err());
        Self {
            root: self.root,
            path: path.filter(|_| !is_full),
        }
    }

    /// Writes the fields of `Debug`. Words may be a key that someone keeps secret, so that they are not shown.
    pub(crate) fn debug(&self, fields: &mut fmt::DebugStruct<'_, '_>) {
        match self.root {
            Root::Seed(seed) => fields.field("seed", &seed),
            Root::Words(_) => fields.field("words", &format_args!("..")),
        };
        match &self.path {
            Some(path) => fields.field("path", &format_args!("{path}")),
            None => fields.field("path", &format_args!("of more than {MAX_DEPTH} numbers")),
        };
    }
}

const fn has_wide_key(algorithm: Algorithm) -> bool {
    matches!(
        algorithm,
        Algorithm::ChaCha8 | Algorithm::ChaCha12 | Algorithm::ChaCha20 | Algorithm::Aes256Ctr
    )
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_algorithm_is_read_back_from_its_name_only() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
        }
        for text in [
            "",
            "xoshiro256+",
            "XOSHIRO256++",
            "xoshiro256++ ",
            "xoshiro256++x8",
            "aes256",
            "philox",
            "chacha",
        ] {
            assert_eq!(text.parse::<Algorithm>(), Err(UnknownAlgorithm), "{text:?}");
        }
    }

    #[test]
    fn the_error_lists_every_name() {
        let message = UnknownAlgorithm.to_string();
        for algorithm in Algorithm::ALL {
            assert!(message.contains(algorithm.name()), "{message}");
        }
    }

    #[test]
    fn text_that_is_not_a_path_is_refused_for_the_right_reason() {
        let error = |text: &str| text.parse::<Path>().unwrap_err();
        assert_eq!(error(""), PathError::Empty);
        for (text, element) in [
            ("//", 1),
            ("/3", 1),
            ("3/", 2),
            ("3//0", 2),
            ("+3", 1),
            ("-3", 1),
            ("3/0x1", 2),
            (" 3", 1),
            ("3/1e3", 2),
            ("3/٣", 2),
        ] {
            assert_eq!(error(text), PathError::NotANumber { element }, "{text:?}");
        }
        assert_eq!(error("0/4294967296"), PathError::TooLarge { element: 2 });
        assert_eq!(
            error("99999999999999999999999"),
            PathError::TooLarge { element: 1 }
        );
    }

    #[test]
    fn the_deepest_path_is_read_and_a_deeper_one_refused() {
        let deepest = vec!["7"; MAX_DEPTH].join("/");
        assert_eq!(*deepest.parse::<Path>().unwrap(), [7; MAX_DEPTH]);
        let deeper = deepest + "/7";
        assert_eq!(deeper.parse::<Path>(), Err(PathError::TooDeep));
        assert_eq!(Path::new(&[7; MAX_DEPTH + 1]), Err(PathError::TooDeep));
    }

    #[test]
    fn the_root_is_not_its_first_child() {
        assert_eq!("/".parse(), Ok(Path::ROOT));
        assert_ne!("0".parse(), Ok(Path::ROOT));
        assert_eq!(Path::ROOT.to_string(), "/");
    }

    #[test]
    fn an_error_says_which_element_is_wrong() {
        let message = "3/4294967296".parse::<Path>().unwrap_err().to_string();
        assert_eq!(message, "element 2 of the path is above 4294967295");
    }

    proptest! {
        #[test]
        fn a_path_is_read_back_from_its_text(elements in prop::collection::vec(any::<u32>(), 0..=MAX_DEPTH)) {
            let path = Path::new(&elements).unwrap();
            prop_assert_eq!(&*path, &elements[..]);
            prop_assert_eq!(path.to_string().parse(), Ok(path));
        }

        #[test]
        fn any_text_is_a_path_or_an_error(text in "[0-9/+ x]{0,80}") {
            if let Ok(path) = text.parse::<Path>() {
                prop_assert_eq!(path.to_string().parse(), Ok(path));
            }
        }
    }

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
