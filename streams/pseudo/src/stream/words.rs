//! The words of a linear generator, read as bytes.

use crate::{Algorithm, Xorshift128Plus, Xoshiro256PlusPlus, Xoshiro256PlusPlusX16};

/// The bytes of a word.
const WORD_BYTES: usize = size_of::<u64>();

/// A generator and the rest of its last word.
#[derive(Clone)]
pub(super) struct WordReader {
    generator: Generator,
    /// The rest of the word that was read last: its low `rest_bytes` bytes, zeros above.
    rest: u64,
    rest_bytes: usize,
}

#[derive(Clone)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is no heap to put the lanes on"
)]
enum Generator {
    Xoshiro256PlusPlus(Xoshiro256PlusPlus),
    Xoshiro256PlusPlusX16(Xoshiro256PlusPlusX16),
    Xorshift128Plus(Xorshift128Plus),
}

impl WordReader {
    /// The linear generator of a stream after `jumps` jumps and `position` bytes; `None` where the
    /// algorithm is a function of a counter.
    pub(super) fn new(
        algorithm: Algorithm,
        words: [u64; 4],
        jumps: u64,
        position: u128,
    ) -> Option<Self> {
        let steps = position / WORD_BYTES as u128;
        // Most streams are read from their beginning.
        let moves = (jumps, steps) != (0, 0);
        let xoshiro = Xoshiro256PlusPlus::from_any_words(words);
        let generator = match algorithm {
            Algorithm::Xoshiro256PlusPlus => {
                let mut generator = xoshiro;
                if moves {
                    generator.advance(jumps, steps);
                }
                Generator::Xoshiro256PlusPlus(generator)
            }
            Algorithm::Xoshiro256PlusPlusX16 => {
                let mut generator = Xoshiro256PlusPlusX16::jumping_from(&xoshiro);
                if moves {
                    generator.advance(jumps, steps);
                }
                Generator::Xoshiro256PlusPlusX16(generator)
            }
            Algorithm::Xorshift128Plus => {
                let mut generator = Xorshift128Plus::from_any_words([words[0], words[1]]);
                if moves {
                    generator.advance(jumps, steps);
                }
                Generator::Xorshift128Plus(generator)
            }
            Algorithm::Philox4x64
            | Algorithm::ChaCha8
            | Algorithm::ChaCha12
            | Algorithm::ChaCha20
            | Algorithm::Aes256Ctr => return None,
        };
        let mut reader = Self {
            generator,
            rest: 0,
            rest_bytes: 0,
        };
        reader.fill(&mut [0; WORD_BYTES][..(position % WORD_BYTES as u128) as usize]);
        Some(reader)
    }

    pub(super) const fn algorithm(&self) -> Algorithm {
        match self.generator {
            Generator::Xoshiro256PlusPlus(_) => Algorithm::Xoshiro256PlusPlus,
            Generator::Xoshiro256PlusPlusX16(_) => Algorithm::Xoshiro256PlusPlusX16,
            Generator::Xorshift128Plus(_) => Algorithm::Xorshift128Plus,
        }
    }

    /// The next eight bytes, the first one lowest.
    #[inline]
    pub(super) fn next_u64(&mut self) -> u64 {
        let word = self.next_word();
        if self.rest_bytes == 0 {
            return word;
        }
        let rest_bits = 8 * self.rest_bytes;
        let value = self.rest | word << rest_bits;
        self.rest = word >> (64 - rest_bits);
        value
    }

    /// The next four bytes, the first one lowest.
    #[inline]
    pub(super) fn next_u32(&mut self) -> u32 {
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

    /// Fills `destination` with the next bytes.
    pub(super) fn fill(&mut self, destination: &mut [u8]) {
        let head_bytes = destination.len().min(self.rest_bytes);
        let (head, body) = destination.split_at_mut(head_bytes);
        self.take_rest(head);

        let (words, tail) = body.split_at_mut(body.len() / WORD_BYTES * WORD_BYTES);
        match &mut self.generator {
            Generator::Xoshiro256PlusPlus(generator) => generator.fill(words),
            Generator::Xoshiro256PlusPlusX16(generator) => generator.fill(words),
            Generator::Xorshift128Plus(generator) => generator.fill(words),
        }

        if !tail.is_empty() {
            self.rest = self.next_word();
            self.rest_bytes = WORD_BYTES;
            self.take_rest(tail);
        }
    }

    #[inline]
    fn next_word(&mut self) -> u64 {
        match &mut self.generator {
            Generator::Xoshiro256PlusPlus(generator) => generator.next_u64(),
            Generator::Xoshiro256PlusPlusX16(generator) => generator.next_u64(),
            Generator::Xorshift128Plus(generator) => generator.next_u64(),
        }
    }

    /// Moves bytes of the rest, which has at least as many.
    fn take_rest(&mut self, destination: &mut [u8]) {
        for byte in destination.iter_mut() {
            *byte = self.rest as u8;
            self.rest >>= 8;
        }
        self.rest_bytes -= destination.len();
    }
}
