//! Reproducible streams: sequences of bytes that have a name.

mod bytes;
mod words;

use core::fmt;

use crate::Algorithm;
use crate::counter_function::{CounterFunction, FIRST_ELEMENT_ROW};
use crate::name::{MixedSeed, Name};
use crate::rng_trait::infallible_rng;
use bytes::Bytes;
use words::WordReader;

/// A reproducible stream of 2^128 bytes, named by an algorithm, a seed and a path. It takes at most
/// 2 KiB, whatever the algorithm.
///
/// ```
/// use wellspring_pseudo::{Algorithm, Path, Stream};
///
/// let path: Path = "3/0/17".parse()?;
/// let mut whole = [0; 8];
/// Stream::new(Algorithm::ChaCha8, 12345, &path).fill(&mut whole);
///
/// let mut pieces = [0; 8];
/// let mut stream = Stream::new(Algorithm::ChaCha8, 12345, &[3, 0, 17]);
/// stream.fill(&mut pieces[..3]);
/// stream.fill(&mut pieces[3..]);
/// assert_eq!(pieces, whole);
///
/// assert_eq!(stream.at(3).next_u32().to_le_bytes(), whole[3..7]);
/// # Ok::<(), wellspring_pseudo::PathError>(())
/// ```
///
/// # From the name to the bytes
///
/// The name gives the words of a state or a key: the n words that NumPy's `SeedSequence(seed,
/// spawn_key=path).generate_state(n, np.uint64)` returns. AES-256 and ChaCha have keys of 256 bits,
/// and use `SeedSequence(seed, spawn_key=path, pool_size=8)`.
///
/// - `xoshiro256++` (n = 4) and `xorshift128+` (n = 2): the words are the state; if all are zero, the
///   state is `seed_from_u64(0)`'s. The stream is the engine's words as little-endian bytes.
/// - `xoshiro256++x16`: lane 0 has the state of the `xoshiro256++` stream of the same seed and path,
///   and lane i lies i [jumps](crate::Xoshiro256PlusPlus::jump) of 2^128 words ahead. Word k of the
///   stream is word k div 16 of lane k mod 16.
/// - `philox4x64-10` (n = 2): the words are the key. Block b of jump j has the counter
///   j 2^128 + b + 1, because NumPy adds 1 before each block. The stream is the words of
///   `numpy.random.Philox(SeedSequence(seed, spawn_key=path)).random_raw` as little-endian bytes.
/// - `chacha8`, `chacha12`, `chacha20` (n = 4): the words are the key, as 32 little-endian bytes. Block
///   b of jump j is the ChaCha block whose words 12 to 15 are j 2^64 + b, little endian.
/// - `aes256-ctr` (n = 4): the key likewise. Block b of jump j is AES-256 of the 16 little-endian bytes
///   of j 2^64 + b. (Counter mode in SP 800-38A counts big endian.)
///
/// # Reading in pieces
///
/// A stream is bytes, and how it is cut does not matter: every method takes the next bytes and drops
/// none. Filling 3 bytes and then 5 gives what filling 8 gives; [`next_u64`](Self::next_u64) is the
/// next eight bytes and [`next_u32`](Self::next_u32) the next four, lowest first, wherever the last
/// read ended. (The linear generators by themselves drop the rest of a word, see
/// [`Xoshiro256PlusPlus::fill`](crate::Xoshiro256PlusPlus::fill).) Positions count modulo 2^128: after
/// its last byte a stream starts again.
///
/// # Different names
///
/// Different seeds or paths give different input to the seed sequence. Among 2^n names of one
/// algorithm some two give the same stream with a probability of about 2^(2n - 257) for AES-256 and
/// ChaCha and 2^(2n - 129) for the others.
///
/// Linear generators start at unrelated points of one cycle, and two streams may overlap without being
/// equal: among 2^n that read 2^m words each, some two overlap with a probability of about 2^(2n + m -
/// 128) for `xorshift128+`; for `xoshiro256++` that is far less than the probability of equal streams.
/// Streams of a function of a counter with different keys do not overlap.
///
/// Take paths from what a task *is*, never from the thread or the machine that happens to run it.
///
/// A different algorithm alone is not enough: every sixteenth word of an `xoshiro256++x16` stream is
/// one of the `xoshiro256++` stream of the same seed and path, and the three kinds of ChaCha share
/// their key.
///
/// # No secrecy
///
/// `Debug` shows the name and the place, no key. A stream is not a source of keys:
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
    name: Name,
    /// The name, mixed: children go on from here.
    seed: MixedSeed,
    /// The words of the state or key.
    words: [u64; 4],
    jumps: u64,
    /// The position is `end` - `left`. One number of 64 bits changes with every read, because two of
    /// them would cost an engine half of its speed.
    end: u128,
    left: u64,
    reader: Reader,
}

#[derive(Clone)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is no heap to put the lanes or the keys on"
)]
enum Reader {
    Linear(WordReader),
    Bytes(Bytes),
}

impl Reader {
    fn open(algorithm: Algorithm, words: [u64; 4], jumps: u64, position: u128) -> Self {
        match WordReader::new(algorithm, words, jumps, position) {
            Some(words) => Self::Linear(words),
            None => {
                let blocks = CounterFunction::new(algorithm, words)
                    .expect("an algorithm without an engine is a function of a counter");
                Self::Bytes(Bytes::new(blocks, jumps))
            }
        }
    }
}

impl Stream {
    /// The stream of this name, at its first byte.
    ///
    /// The path may have any length; a [`Path`](crate::Path) is taken as well.
    #[must_use]
    pub fn new(algorithm: Algorithm, seed: u128, path: &[u32]) -> Self {
        let mixed = MixedSeed::new(algorithm, seed, path);
        Self::open(algorithm, Name::new(seed, path), mixed)
    }

    /// The stream whose state or key is these words, for callers that have a seed sequence of their
    /// own: what its `generate_state(4, np.uint64)` gives. Philox and `xorshift128+` use the first two.
    ///
    /// Its [children](Self::child) are named by the entropy of these four words.
    #[must_use]
    pub fn from_words(algorithm: Algorithm, words: [u64; 4]) -> Self {
        let mixed = MixedSeed::from_words(algorithm, words);
        Self::open_words(algorithm, Name::from_words(words), mixed, words)
    }

    /// The stream whose path is longer by `key`, at its first byte and without jumps, however far this
    /// stream was read. NumPy's `spawn` returns it at index `key`.
    #[must_use]
    pub fn child(&self, key: u32) -> Self {
        let (name, mixed) = (self.name.child(key), self.seed.child(key));
        Self::open(self.algorithm(), name, mixed)
    }

    /// The [children](Self::child) of these keys.
    ///
    /// NumPy's `spawn` counts its calls. This one does not, so that a task that runs twice has the
    /// same children both times.
    pub fn spawn(&self, keys: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Self> {
        keys.into_iter().map(|key| self.child(key))
    }

    /// The algorithm in this stream's name.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match &self.reader {
            Reader::Linear(words) => words.algorithm(),
            Reader::Bytes(bytes) => bytes.blocks().algorithm(),
        }
    }

    /// The number of the next byte, counted from 0.
    #[must_use]
    #[inline]
    pub const fn position(&self) -> u128 {
        self.end.wrapping_sub(self.left as u128)
    }

    /// The number of jumps from the stream of its name to this stream.
    #[must_use]
    pub const fn jumps(&self) -> u64 {
        self.jumps
    }

    /// Where the stream of this name comes from.
    #[cfg(feature = "serde")]
    pub(crate) const fn name(&self) -> &Name {
        &self.name
    }

    /// The same stream from byte `position` on.
    #[must_use]
    pub fn at(&self, position: u128) -> Self {
        let mut stream = self.clone();
        stream.seek(position);
        stream
    }

    /// Goes to byte `position`: at once with a function of a counter, in about 0.1 ms with an
    /// engine.
    pub fn seek(&mut self, position: u128) {
        (self.end, self.left) = end_and_left(position);
        if let Reader::Linear(words) = &mut self.reader {
            let algorithm = words.algorithm();
            *words = WordReader::new(algorithm, self.words, self.jumps, position)
                .expect("the algorithm of an engine has an engine");
        }
    }

    /// Goes on by `bytes` without reading them.
    pub fn advance(&mut self, bytes: u128) {
        self.seek(self.position().wrapping_add(bytes));
    }

    /// The stream that lies `jumps` jumps ahead, at the same position: one more way to have streams
    /// that share no byte.
    ///
    /// The length of a jump: 2^128 blocks for Philox (as NumPy's `jumped`), 2^64 blocks for ChaCha and
    /// AES-256, 2^128 words for `xoshiro256++`, 2^192 words in each lane for `xoshiro256++x16`, 2^64
    /// words for `xorshift128+`. Streams that lie jumps apart overlap if one is read further than
    /// that.
    ///
    /// # Errors
    ///
    /// [`TooManyJumps`] if the stream would lie 2^63 jumps or more ahead.
    pub fn jumped(&self, jumps: u64) -> Result<Self, TooManyJumps> {
        let total = self.jumps.checked_add(jumps).ok_or(TooManyJumps)?;
        if total >= FIRST_ELEMENT_ROW {
            return Err(TooManyJumps);
        }
        let (algorithm, position) = (self.algorithm(), self.position());
        Ok(Self {
            name: self.name.clone(),
            seed: self.seed.clone(),
            words: self.words,
            jumps: total,
            end: self.end,
            left: self.left,
            reader: Reader::open(algorithm, self.words, total, position),
        })
    }

    /// The next eight bytes of the stream, the first one lowest.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        match self.step(size_of::<u64>()) {
            Some(position) => match &mut self.reader {
                Reader::Linear(words) => words.next_u64(),
                Reader::Bytes(bytes) => u64::from_le_bytes(bytes.read(position)),
            },
            None => u64::from_le_bytes(self.read_over_the_end()),
        }
    }

    /// The next four bytes of the stream, the first one lowest.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        match self.step(size_of::<u32>()) {
            Some(position) => match &mut self.reader {
                Reader::Linear(words) => words.next_u32(),
                Reader::Bytes(bytes) => u32::from_le_bytes(bytes.read(position)),
            },
            None => u32::from_le_bytes(self.read_over_the_end()),
        }
    }

    /// Fills `destination` with the next bytes of the stream.
    pub fn fill(&mut self, destination: &mut [u8]) {
        match self.step(destination.len()) {
            Some(position) => self.fill_from(position, destination),
            None => self.fill_over_the_end(destination),
        }
    }

    fn open(algorithm: Algorithm, name: Name, seed: MixedSeed) -> Self {
        let words = seed.words();
        Self::open_words(algorithm, name, seed, words)
    }

    fn open_words(algorithm: Algorithm, name: Name, seed: MixedSeed, words: [u64; 4]) -> Self {
        let (end, left) = end_and_left(0);
        Self {
            name,
            seed,
            words,
            jumps: 0,
            end,
            left,
            reader: Reader::open(algorithm, words, 0, 0),
        }
    }

    /// Steps over `bytes` bytes and returns the position of the first; `None`, without a step, if
    /// only `bytes` or fewer are left.
    #[inline]
    fn step(&mut self, bytes: usize) -> Option<u128> {
        let bytes = bytes as u64;
        if bytes >= self.left {
            return None;
        }
        let position = self.position();
        self.left -= bytes;
        Some(position)
    }

    #[inline]
    fn fill_from(&mut self, position: u128, destination: &mut [u8]) {
        match &mut self.reader {
            Reader::Linear(words) => words.fill(destination),
            Reader::Bytes(bytes) => bytes.fill(position, destination),
        }
    }

    /// Fills `destination` where no bytes are left by count, or the stream ends in it.
    #[cold]
    fn fill_over_the_end(&mut self, destination: &mut [u8]) {
        let position = self.position();
        (self.end, self.left) = end_and_left(position);
        if destination.len() as u64 >= self.left {
            let (last, first) = destination.split_at_mut(self.left as usize);
            self.fill_from(position, last);
            self.seek(0);
            self.fill(first);
        } else {
            self.fill(destination);
        }
    }

    #[cold]
    fn read_over_the_end<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill_over_the_end(&mut bytes);
        bytes
    }
}

/// The end of the bytes that a stream at this position counts down, and their number: to the end of the
/// stream, at most 2^64 - 1.
fn end_and_left(position: u128) -> (u128, u64) {
    let left = match position.wrapping_neg() {
        // At the first byte all 2^128 are left.
        0 => u64::MAX,
        to_end => u64::try_from(to_end).unwrap_or(u64::MAX),
    };
    (position.wrapping_add(left.into()), left)
}

infallible_rng!(Stream, fn Stream::next_u32);

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Stream");
        fields.field("algorithm", &format_args!("{}", self.algorithm()));
        self.name.debug(&mut fields);
        fields.field("jumps", &self.jumps);
        fields.field("position", &self.position()).finish()
    }
}

/// A stream lies less than 2^63 jumps ahead of the stream of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyJumps;

impl fmt::Display for TooManyJumps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a stream lies less than 2^63 jumps ahead of the stream of its name")
    }
}

impl core::error::Error for TooManyJumps {}

#[cfg(test)]
mod tests;
