//! Which function or engine makes the bytes of a stream.

use core::fmt;
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
    /// `xoshiro256++`, an engine: see [`Xoshiro256PlusPlus`](crate::Xoshiro256PlusPlus). The better
    /// choice among the engines.
    Xoshiro256PlusPlus,
    /// `xoshiro256++x16`, sixteen engines side by side: see
    /// [`Xoshiro256PlusPlusX16`](crate::Xoshiro256PlusPlusX16). For streams of many kilobytes: over
    /// four times as fast there, but slower by the word, and slower to begin.
    Xoshiro256PlusPlusX16,
    /// `xorshift128+`, an engine: see [`Xorshift128Plus`](crate::Xorshift128Plus).
    Xorshift128Plus,
    /// `philox4x64-10`, a function: see [`philox4x64_10`](crate::philox4x64_10). The stream is that of
    /// `numpy.random.Philox`.
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

#[cfg(test)]
mod tests {
    use std::string::ToString;

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
}
