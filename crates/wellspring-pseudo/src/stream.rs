//! Reproducible streams: sequences of bytes that have a name.

use core::fmt;
use core::str::FromStr;

use crate::infallible::infallible_rng;

use crate::{SeedSequence, Xorshift128Plus, Xoshiro256PlusPlus, Xoshiro256PlusPlusX16};

/// The bytes of a word.
const WORD_BYTES: usize = size_of::<u64>();

/// Which engine makes a stream's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// `xoshiro256++`: see [`Xoshiro256PlusPlus`]. The better choice where nothing asks for the
    /// other.
    Xoshiro256PlusPlus,
    /// `xoshiro256++x16`: see [`Xoshiro256PlusPlusX16`]. The better choice where one stream is many
    /// kilobytes: over four times as fast there, but slower by the word, and slower to begin.
    Xoshiro256PlusPlusX16,
    /// `xorshift128+`: see [`Xorshift128Plus`].
    Xorshift128Plus,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 3] = [
        Self::Xoshiro256PlusPlus,
        Self::Xoshiro256PlusPlusX16,
        Self::Xorshift128Plus,
    ];

    /// The name on the command line and in reports: that of the engine in the literature, with `x16`
    /// for sixteen lanes of it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xoshiro256PlusPlus => "xoshiro256++",
            Self::Xoshiro256PlusPlusX16 => "xoshiro256++x16",
            Self::Xorshift128Plus => "xorshift128+",
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
        f.write_str("expected xoshiro256++, xoshiro256++x16 or xorshift128+")
    }
}

impl core::error::Error for UnknownAlgorithm {}

/// A reproducible stream of bytes, named by an algorithm, a seed and a path. It takes at most
/// 576 bytes, whatever the algorithm.
///
/// The name gives the engine's state: NumPy's `SeedSequence(seed, spawn_key=path)`, of which
/// `generate_state(n, np.uint64)` are the n words (4 for `xoshiro256++`, 2 for `xorshift128+`; should
/// they all be zero, the state is that of `seed_from_u64(0)`). The stream is the engine's words as
/// little-endian bytes.
///
/// Of `xoshiro256++x16` lane 0 has the state of the `xoshiro256++` stream of the same seed and path,
/// and lane i lies i [jumps](Xoshiro256PlusPlus::jump) of 2^128 words ahead; word k of the stream is
/// word k div 16 of lane k mod 16.
///
/// ```
/// use wellspring_pseudo::{Algorithm, Path, Stream};
///
/// let path: Path = "3/0/17".parse()?;
/// let mut whole = [0; 8];
/// Stream::new(Algorithm::Xoshiro256PlusPlus, 12345, &path).fill(&mut whole);
///
/// let mut pieces = [0; 8];
/// let mut stream = Stream::new(Algorithm::Xoshiro256PlusPlus, 12345, &[3, 0, 17]);
/// stream.fill(&mut pieces[..3]);
/// stream.fill(&mut pieces[3..]);
/// assert_eq!(pieces, whole);
/// # Ok::<(), wellspring_pseudo::PathError>(())
/// ```
///
/// # Reading in pieces
///
/// A stream is bytes, and how it is cut does not matter: every method takes the next bytes and drops
/// none. Filling 3 bytes and then 5 gives what filling 8 gives; [`next_u64`](Self::next_u64) is the
/// next eight bytes and [`next_u32`](Self::next_u32) the next four, lowest first, wherever the last
/// read ended. (The engines by themselves drop the rest of a word, see
/// [`Xoshiro256PlusPlus::fill`].)
///
/// # Different names
///
/// Different seeds or paths give different input to the seed sequence, whose pool is 128 bits: among
/// 2^n streams some two are equal with a probability of about 2^(2n - 129). Streams of one algorithm
/// start at unrelated points of one cycle: among 2^n that read 2^m words each, some two overlap with
/// a probability of about 2^(2n + m - 128) for `xorshift128+`, and for `xoshiro256++` in one lane or
/// sixteen far less than that of an equal pool. Take paths from what a task *is*, never from the
/// thread or the machine that happens to run it.
///
/// A different algorithm alone is not enough: every sixteenth word of an `xoshiro256++x16` stream is
/// one of the `xoshiro256++` stream of the same seed and path.
///
/// # No secrecy
///
/// `Debug` shows the algorithm and nothing else. A stream is not a source of keys:
///
/// ```
/// # use wellspring_pseudo::{Algorithm, Stream};
/// fn sample(generator: &mut impl rand_core::Rng) -> u64 { generator.next_u64() }
/// sample(&mut Stream::new(Algorithm::Xoshiro256PlusPlus, 1, &[]));
/// ```
///
/// ```compile_fail,E0277
/// # use wellspring_pseudo::{Algorithm, Stream};
/// fn key(generator: &mut impl rand_core::CryptoRng) -> u64 { generator.next_u64() }
/// key(&mut Stream::new(Algorithm::Xoshiro256PlusPlus, 1, &[]));
/// ```
#[derive(Clone)]
pub struct Stream {
    name: SeedSequence,
    engine: Engine,
    /// What is left of the word that was read last: its low `rest_bytes` bytes, zeros above.
    rest: u64,
    rest_bytes: usize,
}

#[derive(Clone)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is no heap to put the lanes on"
)]
enum Engine {
    Xoshiro256PlusPlus(Xoshiro256PlusPlus),
    Xoshiro256PlusPlusX16(Xoshiro256PlusPlusX16),
    Xorshift128Plus(Xorshift128Plus),
}

impl Stream {
    /// The stream of this name, at its first byte.
    ///
    /// The seed is as wide as the pool that it is mixed into, and as the entropy that NumPy draws
    /// when it is given none. The path may have any length; a [`Path`](crate::Path) is taken as
    /// well.
    #[must_use]
    pub fn new(algorithm: Algorithm, seed: u128, path: &[u32]) -> Self {
        let root = SeedSequence::new(seed);
        let name = path.iter().fold(root, |parent, &key| parent.child(key));
        Self::named(algorithm, name)
    }

    /// The first byte of the stream whose path is longer by `key`, however far this one was read.
    #[must_use]
    pub fn child(&self, key: u32) -> Self {
        Self::named(self.algorithm(), self.name.child(key))
    }

    /// The algorithm in this stream's name.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match self.engine {
            Engine::Xoshiro256PlusPlus(_) => Algorithm::Xoshiro256PlusPlus,
            Engine::Xoshiro256PlusPlusX16(_) => Algorithm::Xoshiro256PlusPlusX16,
            Engine::Xorshift128Plus(_) => Algorithm::Xorshift128Plus,
        }
    }

    /// The next eight bytes of the stream, the first one lowest.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let word = self.next_word();
        if self.rest_bytes == 0 {
            return word;
        }
        let rest_bits = 8 * self.rest_bytes;
        let value = self.rest | word << rest_bits;
        self.rest = word >> (64 - rest_bits);
        value
    }

    /// The next four bytes of the stream, the first one lowest.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.rest_bytes >= 4 {
            let value = self.rest as u32;
            self.rest >>= 32;
            self.rest_bytes -= 4;
            return value;
        }
        let word = self.next_word();
        let rest_bits = 8 * self.rest_bytes;
        let value = self.rest | word << rest_bits;
        self.rest = word >> (32 - rest_bits);
        self.rest_bytes += 4;
        value as u32
    }

    /// Fills `destination` with the next bytes of the stream.
    pub fn fill(&mut self, destination: &mut [u8]) {
        let head_bytes = destination.len().min(self.rest_bytes);
        let (head, body) = destination.split_at_mut(head_bytes);
        self.take_rest(head);

        let (words, tail) = body.split_at_mut(body.len() / WORD_BYTES * WORD_BYTES);
        match &mut self.engine {
            Engine::Xoshiro256PlusPlus(engine) => engine.fill(words),
            Engine::Xoshiro256PlusPlusX16(engine) => engine.fill(words),
            Engine::Xorshift128Plus(engine) => engine.fill(words),
        }

        if !tail.is_empty() {
            self.rest = self.next_word();
            self.rest_bytes = WORD_BYTES;
            self.take_rest(tail);
        }
    }

    fn named(algorithm: Algorithm, name: SeedSequence) -> Self {
        let xoshiro = || Xoshiro256PlusPlus::from_any_words(name.generate_u64());
        let engine = match algorithm {
            Algorithm::Xoshiro256PlusPlus => Engine::Xoshiro256PlusPlus(xoshiro()),
            Algorithm::Xoshiro256PlusPlusX16 => {
                Engine::Xoshiro256PlusPlusX16(Xoshiro256PlusPlusX16::jumping_from(&xoshiro()))
            }
            Algorithm::Xorshift128Plus => {
                Engine::Xorshift128Plus(Xorshift128Plus::from_any_words(name.generate_u64()))
            }
        };
        Self {
            name,
            engine,
            rest: 0,
            rest_bytes: 0,
        }
    }

    #[inline]
    fn next_word(&mut self) -> u64 {
        match &mut self.engine {
            Engine::Xoshiro256PlusPlus(engine) => engine.next_u64(),
            Engine::Xoshiro256PlusPlusX16(engine) => engine.next_u64(),
            Engine::Xorshift128Plus(engine) => engine.next_u64(),
        }
    }

    /// Moves bytes of the rest, of which there are enough.
    fn take_rest(&mut self, destination: &mut [u8]) {
        for byte in destination.iter_mut() {
            *byte = self.rest as u8;
            self.rest >>= 8;
        }
        self.rest_bytes -= destination.len();
    }
}

infallible_rng!(Stream, fn Stream::next_u32);

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
