//! The name of arrays, and the words of their elements.

use alloc::vec::Vec;
use core::fmt;

use wellspring_cipher::{SimdTask, Width};

use crate::Algorithm;
use crate::counter_function::{CounterFunction, FIRST_ELEMENT_ROW, MAX_BLOCK_BYTES};
use crate::name::{MixedSeed, Name};

/// The bytes of words that are made at a time: they stay in the first cache of any CPU.
const CHUNK_BYTES: usize = 1024;

/// The same of ChaCha in long arrays: the first batch of a request costs more than the later ones.
const LONG_CHUNK_BYTES: usize = 4096;

/// Arrays of random numbers, named by an algorithm, a seed and a path. It takes at most 1200 bytes.
///
/// Element i of an array depends on the name and on i alone. Any cut into pieces, any number of
/// threads, any width of SIMD registers and any machine give the same array. Every method takes the
/// index of the first element that it fills:
///
/// ```
/// use wellspring_pseudo::{Algorithm, Elements};
///
/// let elements = Elements::new(Algorithm::ChaCha8, 2026, &[3, 0, 17])?;
/// let mut whole = [0.0; 100];
/// elements.standard_normal(0, &mut whole)?;
///
/// let mut part = [0.0; 60];
/// elements.standard_normal(40, &mut part)?;
/// assert_eq!(part, whole[40..]);
/// # Ok::<(), wellspring_pseudo::ElementError>(())
/// ```
///
/// Two calls with the same name, kind and indices give the same numbers. Take another path for each
/// array of a program. Uniform floats are the bytes of the [`Stream`](crate::Stream) of the same name;
/// every other kind (integers of up to 32 bits, integers of 64 bits, normal, exponential, order) has
/// blocks that no stream and no other kind reads. Integers of the same size and different ranges are
/// related, because they come from the same words.
///
/// All computations are additions, subtractions, multiplications and divisions of IEEE 754 floats in
/// a fixed order, without a function of the system's mathematical library.
#[derive(Clone)]
pub struct Elements {
    /// For `Debug` alone.
    name: Name,
    pub(super) blocks: CounterFunction,
    pub(super) width: Width,
}

/// The distribution of an array's elements. Each has its own rows of blocks.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Integers32 = 1,
    Integers64 = 2,
    Normal = 3,
    Exponential = 4,
    Shuffle = 5,
    Permutation = 6,
    LogNormal = 7,
    Weibull = 8,
    Cauchy = 9,
    Gamma = 10,
    Beta = 11,
    StudentT = 12,
    TruncatedNormal = 13,
    Geometric = 14,
    Binomial = 15,
    Poisson = 16,
    Choice = 17,
    Subsets = 18,
    Dirichlet = 19,
    Multinomial = 20,
    MultivariateNormal = 21,
    Sphere = 22,
    Sobol = 23,
    Halton = 24,
    Laplace = 25,
    Gumbel = 26,
    Logistic = 27,
    Rayleigh = 28,
    Pareto = 29,
    Power = 30,
    Triangular = 31,
    VonMises = 32,
    Wald = 33,
    F = 34,
    NoncentralChiSquare = 35,
    NoncentralF = 36,
    NegativeBinomial = 37,
    Hypergeometric = 38,
    LogSeries = 39,
    Zipf = 40,
    MultivariateHypergeometric = 41,
}

impl Kind {
    /// The first of the 2^56 rows of this kind.
    pub(super) const fn row(self) -> u64 {
        FIRST_ELEMENT_ROW | (self as u64) << 56
    }

    /// The row of the first block that an element has for itself.
    pub(super) const fn row_of_own_blocks(self) -> u64 {
        // The first words of 2^64 elements are one row if each has a word, and fill up to four rows of AES-256 if it has
        // eight.
        let rows_of_first_words = if self as u64 <= Self::Permutation as u64 {
            1
        } else {
            16
        };
        self.row() + rows_of_first_words
    }
}

/// The row of uniform floats: the stream itself.
pub(super) const STREAM_ROW: u64 = 0;

impl Elements {
    /// The arrays of this name.
    ///
    /// # Errors
    ///
    /// [`ElementError::NotCounterBased`] if the algorithm is an engine.
    pub fn new(algorithm: Algorithm, seed: u128, path: &[u32]) -> Result<Self, ElementError> {
        let words = MixedSeed::new(algorithm, seed, path).words();
        Self::open(algorithm, Name::new(seed, path), words)
    }

    /// The arrays whose key is these words, for callers that have a seed sequence of their own: see
    /// [`Stream::from_words`](crate::Stream::from_words).
    ///
    /// # Errors
    ///
    /// The same errors as [`new`](Self::new).
    pub fn from_words(algorithm: Algorithm, words: [u64; 4]) -> Result<Self, ElementError> {
        Self::open(algorithm, Name::from_words(words), words)
    }

    fn open(algorithm: Algorithm, name: Name, words: [u64; 4]) -> Result<Self, ElementError> {
        let blocks = CounterFunction::new(algorithm, words).ok_or(ElementError::NotCounterBased)?;
        let width = Width::detect();
        Ok(Self {
            name,
            blocks,
            width,
        })
    }

    /// The same arrays, computed in registers of the given width: for tests and benchmarks.
    ///
    /// Filling an array then panics if this CPU lacks the width.
    #[must_use]
    pub fn with_width(self, width: Width) -> Self {
        Self { width, ..self }
    }

    /// The algorithm in the name.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.blocks.algorithm()
    }

    /// Fills `out` with the bytes of the [`Stream`](crate::Stream) of the same name, from byte `first` on: the
    /// bytes that uniform floats are made of. After byte 2^128 - 1 comes byte 0.
    ///
    /// ```
    /// use wellspring_pseudo::{Algorithm, Elements, Stream};
    ///
    /// let mut bytes = [0; 100];
    /// Elements::new(Algorithm::ChaCha8, 2026, &[3])?.bytes(1000, &mut bytes);
    /// let mut same = [0; 100];
    /// Stream::new(Algorithm::ChaCha8, 2026, &[3]).at(1000).fill(&mut same);
    /// assert_eq!(bytes, same);
    /// # Ok::<(), wellspring_pseudo::ElementError>(())
    /// ```
    pub fn bytes(&self, first: u128, out: &mut [u8]) {
        // 0 where all 2^128 bytes are left.
        let left = first.wrapping_neg();
        let (now, after) = match usize::try_from(left) {
            Ok(left @ 1..) => out.split_at_mut(left.min(out.len())),
            _ => (out, &mut [][..]),
        };
        self.bytes_before_the_end(first, now);
        self.bytes_before_the_end(0, after);
    }

    fn bytes_before_the_end(&self, first: u128, out: &mut [u8]) {
        let block_bytes = self.blocks.block_bytes();
        let (block, skipped) = (
            first / block_bytes as u128,
            (first % block_bytes as u128) as usize,
        );
        if skipped == 0 {
            return self.blocks.fill(STREAM_ROW, block, out);
        }
        let mut whole = [0; MAX_BLOCK_BYTES];
        let whole = &mut whole[..block_bytes];
        self.blocks.fill(STREAM_ROW, block, whole);
        let part = &whole[skipped..];
        let (head, rest) = out.split_at_mut(part.len().min(out.len()));
        head.copy_from_slice(&part[..head.len()]);
        if !rest.is_empty() {
            self.blocks.fill(STREAM_ROW, block + 1, rest);
        }
    }

    /// Fills `out` with elements from index `first` on, `WORD_BYTES` bytes of the row each: `convert`
    /// gets the index of the first element of a piece, its words and its place.
    pub(super) fn fill_from_words<const WORD_BYTES: usize, T>(
        &self,
        row: u64,
        first: u64,
        out: &mut [T],
        convert: impl FnMut(u64, &[[u8; WORD_BYTES]], &mut [T]),
    ) -> Result<(), ElementError> {
        check_range(first, out.len())?;
        let is_long = out.len() * WORD_BYTES > CHUNK_BYTES;
        if is_long && self.blocks.block_bytes() == MAX_BLOCK_BYTES {
            let mut buffer = [0; LONG_CHUNK_BYTES];
            self.fill_by_chunks(&mut buffer, row, first, out, convert);
        } else {
            let mut buffer = [0; CHUNK_BYTES];
            self.fill_by_chunks(&mut buffer, row, first, out, convert);
        }
        Ok(())
    }

    /// Fills `out` by words that are made in `buffer`, whole blocks of any function.
    fn fill_by_chunks<const WORD_BYTES: usize, T>(
        &self,
        buffer: &mut [u8],
        row: u64,
        first: u64,
        out: &mut [T],
        mut convert: impl FnMut(u64, &[[u8; WORD_BYTES]], &mut [T]),
    ) {
        let block_bytes = self.blocks.block_bytes();
        let mut index = first;
        let mut rest = out;
        while !rest.is_empty() {
            let position = u128::from(index) * WORD_BYTES as u128;
            // A block's length is a power of two, and 128 bits are slow to divide.
            let block = position >> block_bytes.ilog2();
            // Not zero in the first piece at most: a whole buffer ends where a block does.
            let skipped = position as usize & (block_bytes - 1);
            let count = rest.len().min((buffer.len() - skipped) / WORD_BYTES);
            let (now, after) = rest.split_at_mut(count);
            let bytes = &mut buffer[..skipped + count * WORD_BYTES];
            self.blocks.fill(row, block, bytes);
            convert(index, bytes[skipped..].as_chunks().0, now);
            index = index.wrapping_add(count as u64);
            rest = after;
        }
    }
}

/// Checks that there are `length` elements from index `first` on.
pub(super) fn check_range(first: u64, length: usize) -> Result<(), ElementError> {
    match (length as u64).checked_sub(1) {
        None => Ok(()),
        Some(last) => first
            .checked_add(last)
            .map(|_| ())
            .ok_or(ElementError::PastTheEnd),
    }
}

/// The words that one element takes: without end, and read by no other element.
///
/// The first ones, the *head*, are made for many elements at once: of a kind whose elements have a head of h words, element
/// i has the words h i to h i + h - 1 of the kind's row. Then come blocks of its own: block i of the row
/// [`Kind::row_of_own_blocks`], of the next row, and so on.
pub(super) struct Words<'a> {
    head: &'a [[u8; 8]],
    blocks: &'a CounterFunction,
    kind: Kind,
    index: u64,
    used_blocks: u64,
    block: [u8; MAX_BLOCK_BYTES],
    used_bytes: usize,
    near: Option<&'a mut dyn FirstBlock>,
}

/// Makes the first block that an element has for itself.
trait FirstBlock {
    fn copy(&mut self, blocks: &CounterFunction, kind: Kind, index: u64, block: &mut [u8]);
}

/// The first blocks of elements near each other. They follow each other in one row, and to make 16 of ChaCha at a time takes
/// about as long as to make one. `WINDOW`, a power of two, is how many are made if the last element that needed one is in the
/// same window.
struct FirstBlocks<const WINDOW: usize> {
    /// The element of the first block, and how many blocks there are.
    first: u64,
    count: u64,
    bytes: [[u8; MAX_BLOCK_BYTES]; WINDOW],
}

impl<const WINDOW: usize> FirstBlocks<WINDOW> {
    fn new() -> Self {
        Self {
            first: 0,
            count: 0,
            bytes: [[0; MAX_BLOCK_BYTES]; WINDOW],
        }
    }
}

impl<const WINDOW: usize> FirstBlock for FirstBlocks<WINDOW> {
    fn copy(&mut self, blocks: &CounterFunction, kind: Kind, index: u64, block: &mut [u8]) {
        let bytes = self.bytes.as_flattened_mut();
        if index.wrapping_sub(self.first) >= self.count {
            let window = |index| index / WINDOW as u64;
            (self.first, self.count) = if self.count > 0 && window(index) == window(self.first) {
                (window(index) * WINDOW as u64, WINDOW as u64)
            } else {
                (index, 1)
            };
            let made = &mut bytes[..self.count as usize * block.len()];
            blocks.fill(kind.row_of_own_blocks(), self.first.into(), made);
        }
        let place = (index - self.first) as usize * block.len();
        block.copy_from_slice(&bytes[place..][..block.len()]);
    }
}

impl<'a> Words<'a> {
    /// The words behind the head.
    #[inline(always)]
    pub(super) fn new(blocks: &'a CounterFunction, kind: Kind, index: u64) -> Self {
        Self {
            head: &[],
            blocks,
            kind,
            index,
            used_blocks: 0,
            block: [0; MAX_BLOCK_BYTES],
            used_bytes: MAX_BLOCK_BYTES,
            near: None,
        }
    }

    #[inline(always)]
    pub(super) fn next_u64(&mut self) -> u64 {
        if let Some((word, rest)) = self.head.split_first() {
            self.head = rest;
            return u64::from_le_bytes(*word);
        }
        self.next_of_own_block()
    }

    #[cold]
    #[inline(never)]
    fn next_of_own_block(&mut self) -> u64 {
        let block = &mut self.block[..self.blocks.block_bytes()];
        if self.used_bytes >= block.len() {
            match &mut self.near {
                Some(near) if self.used_blocks == 0 => {
                    near.copy(self.blocks, self.kind, self.index, block);
                }
                _ => {
                    let row = self.kind.row_of_own_blocks() + self.used_blocks;
                    self.blocks.fill(row, self.index.into(), block);
                }
            }
            self.used_blocks += 1;
            self.used_bytes = 0;
        }
        let mut word = [0; size_of::<u64>()];
        word.copy_from_slice(&block[self.used_bytes..][..size_of::<u64>()]);
        self.used_bytes += size_of::<u64>();
        u64::from_le_bytes(word)
    }

    /// Passes over as many words.
    #[inline(always)]
    fn skip(&mut self, words: usize) {
        let of_head = words.min(self.head.len());
        self.head = &self.head[of_head..];
        for _ in of_head..words {
            self.next_of_own_block();
        }
    }

    /// How many words were used, of a head of so many bytes and behind it.
    #[inline(always)]
    fn used(&self, head_bytes: usize) -> usize {
        let own = if self.used_blocks == 0 {
            0
        } else {
            (self.used_blocks as usize - 1) * self.blocks.block_bytes() + self.used_bytes
        };
        head_bytes / size_of::<u64>() - self.head.len() + own / size_of::<u64>()
    }

    /// A uniform number in [0, 1), a multiple of 2^-53.
    #[inline(always)]
    pub(super) fn next_uniform(&mut self) -> f64 {
        from_u64(self.next_u64())
    }

    /// A uniform number in (0, 1], a multiple of 2^-53.
    #[inline(always)]
    pub(super) fn next_positive(&mut self) -> f64 {
        1.0 - self.next_uniform()
    }
}

/// The uniform number in (0, 1] of a word.
#[inline(always)]
pub(super) fn positive_of(word: [u8; 8]) -> f64 {
    1.0 - from_u64(u64::from_le_bytes(word))
}

/// A number in [0, 1) from the upper 53 bits of a word, as NumPy's `Generator.random` does.
#[inline(always)]
pub(super) fn from_u64(word: u64) -> f64 {
    // AVX-512 DQ converts a register of integers by one instruction. For AVX2 and SSE2 the compiler puts both halves of the
    // integer into fractions, in about five.
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (word >> 11) as f64 * STEP
}

impl Elements {
    /// Fills `out` with elements from index `first` on. `draw` gets the words of each in turn, with a head of this many
    /// bytes: a power of two, at most 64.
    #[inline(always)]
    pub(super) fn fill_each<const HEAD_BYTES: usize, T>(
        &self,
        kind: Kind,
        first: u64,
        out: &mut [T],
        mut draw: impl FnMut(&mut Words<'_>) -> T,
    ) -> Result<(), ElementError> {
        let mut near = FirstBlocks::<16>::new();
        self.fill_from_words(kind.row(), first, out, |start, heads, out| {
            for (offset, (place, head)) in out.iter_mut().zip(heads).enumerate() {
                let head: &[u8; HEAD_BYTES] = head;
                let mut words = Words {
                    head: head.as_chunks().0,
                    near: Some(&mut near),
                    ..Words::new(&self.blocks, kind, start.wrapping_add(offset as u64))
                };
                *place = draw(&mut words);
            }
        })
    }

    /// Fills `out` with elements. For most, the head decides: `propose` makes numbers of its words, and `judge` a
    /// number of these and of parameters, several at a time, or NaN; `draw` makes the other elements from all words. The
    /// parameters are in columns, and repeat after each column's end; element 0 of `out` has the first ones.
    #[inline(always)]
    pub(super) fn fill_quickly<const HEAD_BYTES: usize, const M: usize, const N: usize>(
        &self,
        (kind, first): (Kind, u64),
        out: &mut [f64],
        columns: [&[f64]; N],
        propose: impl Fn(&[[u8; 8]]) -> [f64; M] + Copy,
        judge: impl Fn([f64; M], [f64; N]) -> f64 + Copy,
        draw: impl Fn(&mut Words<'_>, [f64; N]) -> f64,
    ) -> Result<(), ElementError> {
        let period = columns[0].len();
        if out.len() < QUICK_AT_A_TIME / 4 {
            let mut places = (0..period).cycle();
            return self.fill_each::<HEAD_BYTES, _>(kind, first, out, |words| {
                let place = places.next().unwrap_or(0);
                draw(words, columns.map(|column| column[place]))
            });
        }
        // A piece starts anywhere in the period, and reads on without a look at its end.
        let columns = columns.map(|column| {
            let repeated = column.iter().copied().cycle();
            repeated.take(period + QUICK_AT_A_TIME).collect::<Vec<_>>()
        });
        let mut near = FirstBlocks::<16>::new();
        let mut phase = 0;
        self.fill_from_words(kind.row(), first, out, |start, heads, out| {
            let pieces = out.chunks_mut(QUICK_AT_A_TIME);
            for (number, (out, heads)) in pieces.zip(heads.chunks(QUICK_AT_A_TIME)).enumerate() {
                let columns = columns.each_ref().map(|column| {
                    let now = column[phase..].first_chunk::<QUICK_AT_A_TIME>();
                    now.expect("a column is longer than its period by a piece")
                });
                self.width.run(Quick {
                    heads,
                    columns,
                    out: &mut *out,
                    propose,
                    judge,
                });
                for (i, place) in out.iter_mut().enumerate() {
                    if place.is_nan() {
                        let head: &[u8; HEAD_BYTES] = &heads[i];
                        let index = start.wrapping_add((number * QUICK_AT_A_TIME + i) as u64);
                        let mut words = Words {
                            head: head.as_chunks().0,
                            near: Some(&mut near),
                            ..Words::new(&self.blocks, kind, index)
                        };
                        *place = draw(&mut words, columns.map(|column| column[i]));
                    }
                }
                phase = (phase + out.len()) % period;
            }
        })
    }

    /// Fills `out` with elements that are found by rejection. `propose` takes the words of a proposal from the element's, and
    /// `judge` makes a number of them, or NaN for another proposal: several at a time, at the width of registers that it is
    /// compiled for.
    #[inline(always)]
    pub(super) fn fill_judged<const HEAD_BYTES: usize, const N: usize, T>(
        &self,
        kind: Kind,
        first: u64,
        out: &mut [T],
        propose: impl Fn(&mut Words<'_>) -> [f64; N],
        judge: impl Fn([f64; N]) -> f64 + Copy,
        finish: impl Fn(f64) -> T,
    ) -> Result<(), ElementError> {
        let mut near = FirstBlocks::<JUDGED_AT_A_TIME>::new();
        let mut proposals = [[0.0; JUDGED_AT_A_TIME]; N];
        let mut judged = [0.0; JUDGED_AT_A_TIME];
        self.fill_from_words(kind.row(), first, out, |start, heads, out| {
            let (mut start, mut heads, mut rest) = (start, heads, out);
            while !rest.is_empty() {
                // Up to the end of a window of first blocks.
                let window = JUDGED_AT_A_TIME - start as usize % JUDGED_AT_A_TIME;
                let (out, after) = rest.split_at_mut(window.min(rest.len()));
                // The places without a number, and the words that their elements have used.
                let mut open: [(usize, usize); JUDGED_AT_A_TIME] = core::array::from_fn(|i| (i, 0));
                let mut count = out.len();
                while count > 0 {
                    for (i, (place, used)) in open[..count].iter_mut().enumerate() {
                        let head: &[u8; HEAD_BYTES] = &heads[*place];
                        let mut words = Words {
                            head: head.as_chunks().0,
                            near: Some(&mut near),
                            ..Words::new(&self.blocks, kind, start.wrapping_add(*place as u64))
                        };
                        words.skip(*used);
                        let proposal = propose(&mut words);
                        *used = words.used(HEAD_BYTES);
                        for (column, number) in proposals.iter_mut().zip(proposal) {
                            column[i] = number;
                        }
                    }
                    self.width.run(Judge {
                        proposals: &proposals,
                        judged: &mut judged[..count],
                        judge,
                    });
                    let asked = core::mem::take(&mut count);
                    for (i, judged) in judged[..asked].iter().enumerate() {
                        let element = open[i];
                        out[element.0] = finish(*judged);
                        // It is overwritten if its number was accepted.
                        open[count] = element;
                        count += usize::from(judged.is_nan());
                    }
                }
                start = start.wrapping_add(out.len() as u64);
                heads = &heads[out.len()..];
                rest = after;
            }
        })
    }
}

/// Proposals that are judged at a time: eight registers of AVX-512.
const JUDGED_AT_A_TIME: usize = 64;

/// Elements that are made of their heads at a time: in a chunk of words are at least as many heads of 32 bytes.
const QUICK_AT_A_TIME: usize = 32;

/// Makes numbers of heads and of parameters in columns, as far as a head is enough.
struct Quick<'a, const HEAD_BYTES: usize, const N: usize, P, J> {
    heads: &'a [[u8; HEAD_BYTES]],
    columns: [&'a [f64; QUICK_AT_A_TIME]; N],
    out: &'a mut [f64],
    propose: P,
    judge: J,
}

impl<const HEAD_BYTES: usize, const M: usize, const N: usize, P, J> SimdTask
    for Quick<'_, HEAD_BYTES, N, P, J>
where
    P: Fn(&[[u8; 8]]) -> [f64; M],
    J: Fn([f64; M], [f64; N]) -> f64,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let length = self.out.len().min(QUICK_AT_A_TIME);
        // The look-ups of a proposal are made one by one.
        let mut proposals = [[0.0; QUICK_AT_A_TIME]; M];
        for (i, head) in self.heads[..length].iter().enumerate() {
            let numbers = (self.propose)(head.as_chunks().0);
            for (column, number) in proposals.iter_mut().zip(numbers) {
                column[i] = number;
            }
        }
        let mut judged = [0.0; QUICK_AT_A_TIME];
        for (i, place) in judged.iter_mut().enumerate() {
            let proposal = proposals.each_ref().map(|column| column[i]);
            *place = (self.judge)(proposal, self.columns.map(|column| column[i]));
        }
        self.out[..length].copy_from_slice(&judged[..length]);
    }
}

/// Judges proposals, each in its place of all columns.
struct Judge<'a, const N: usize, F> {
    proposals: &'a [[f64; JUDGED_AT_A_TIME]; N],
    judged: &'a mut [f64],
    judge: F,
}

impl<const N: usize, F: Fn([f64; N]) -> f64> SimdTask for Judge<'_, N, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let length = self.judged.len().min(JUDGED_AT_A_TIME);
        for (i, judged) in self.judged[..length].iter_mut().enumerate() {
            *judged = (self.judge)(self.proposals.each_ref().map(|column| column[i]));
        }
    }
}

impl fmt::Debug for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Elements");
        fields.field("algorithm", &format_args!("{}", self.algorithm()));
        self.name.debug(&mut fields);
        fields.finish()
    }
}

/// The reason why an array cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementError {
    /// The algorithm is an engine, which computes one word from the word before.
    NotCounterBased,
    /// The last index is 2^64 or above.
    PastTheEnd,
    /// The range of integers holds no integer.
    EmptyRange,
    /// A distribution does not have such a parameter. The text says which and why, as NumPy does.
    Parameter(&'static str),
}

impl fmt::Display for ElementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotCounterBased => {
                "arrays need a function of a counter: philox4x64-10, chacha8, chacha12, chacha20 or \
                 aes256-ctr"
            }
            Self::PastTheEnd => "the last index is above 2^64 - 1",
            Self::Parameter(reason) => reason,
            Self::EmptyRange => "the range holds no integer: its low end is above its high end",
        })
    }
}

impl core::error::Error for ElementError {}
