//! A stream behind a buffer, as NumPy's generators read it.

use wellspring_pseudo::{Algorithm, Stream, TooManyJumps};

/// Bytes that are made at a time: a call for 8 of them then takes about a nanosecond.
const BUFFER_BYTES: usize = 1024;

/// A stream with a buffer, and half of a word.
///
/// As in NumPy's own generators, a number of 32 bits takes a word of 64, and the next one takes its upper
/// half, whatever is read in between.
#[derive(Clone)]
pub(crate) struct Draws {
    /// The words of the key or state at the beginning of the stream.
    words: [u64; 4],
    /// Stands behind the buffer.
    stream: Stream,
    /// Its last bytes, from `used` on, are the next ones.
    buffer: [u8; BUFFER_BYTES],
    used: usize,
    half: Option<u32>,
}

impl Draws {
    /// The stream of these words, so many jumps ahead.
    pub(crate) fn new(
        algorithm: Algorithm,
        words: [u64; 4],
        jumps: u64,
        position: u128,
    ) -> Result<Self, TooManyJumps> {
        let mut stream = Stream::from_words(algorithm, words);
        if jumps != 0 {
            stream = stream.jumped(jumps)?;
        }
        if position != 0 {
            stream.seek(position);
        }
        Ok(Self {
            words,
            stream,
            buffer: [0; BUFFER_BYTES],
            used: BUFFER_BYTES,
            half: None,
        })
    }

    pub(crate) fn words(&self) -> [u64; 4] {
        self.words
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        self.stream.algorithm()
    }

    /// The number of the next byte.
    pub(crate) fn position(&self) -> u128 {
        let left = (BUFFER_BYTES - self.used) as u128;
        self.stream.position().wrapping_sub(left)
    }

    pub(crate) fn jumps(&self) -> u64 {
        self.stream.jumps()
    }

    /// The upper half of a word whose lower half was read.
    pub(crate) fn half(&self) -> Option<u32> {
        self.half
    }

    pub(crate) fn set_half(&mut self, half: Option<u32>) {
        self.half = half;
    }

    /// Goes to a byte, and forgets the half.
    pub(crate) fn seek(&mut self, position: u128) {
        self.stream.seek(position);
        self.used = BUFFER_BYTES;
        self.half = None;
    }

    /// The stream at the next byte.
    pub(crate) fn stream(&self) -> Stream {
        self.stream.at(self.position())
    }

    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        if let Some(bytes) = self.buffer[self.used..].first_chunk() {
            self.used += size_of::<u64>();
            return u64::from_le_bytes(*bytes);
        }
        self.next_u64_of_new_buffer()
    }

    #[cold]
    fn next_u64_of_new_buffer(&mut self) -> u64 {
        let mut word = [0; size_of::<u64>()];
        let (old, new) = word.split_at_mut(BUFFER_BYTES - self.used);
        old.copy_from_slice(&self.buffer[self.used..]);
        self.stream.fill(&mut self.buffer);
        new.copy_from_slice(&self.buffer[..new.len()]);
        self.used = new.len();
        u64::from_le_bytes(word)
    }

    #[inline]
    pub(crate) fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let word = self.next_u64();
        self.half = Some((word >> 32) as u32);
        word as u32
    }

    /// A number in [0, 1) from the upper 53 bits of a word.
    #[inline]
    pub(crate) fn next_f64(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * STEP
    }

    /// The next bytes.
    pub(crate) fn fill(&mut self, out: &mut [u8]) {
        let count = out.len().min(BUFFER_BYTES - self.used);
        let (first, rest) = out.split_at_mut(count);
        first.copy_from_slice(&self.buffer[self.used..][..count]);
        self.used += count;
        self.stream.fill(rest);
    }
}
