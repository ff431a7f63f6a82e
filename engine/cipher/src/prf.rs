//! The two pseudo-random functions of the design.

use core::fmt;
use core::str::FromStr;

/// The length of a key in bytes, for both functions.
pub const KEY_BYTES: usize = 32;

/// A pseudo-random function from a 256-bit key and a 128-bit counter to a block.
///
/// Both take the counter as 16 little-endian bytes, as FreeBSD's random(4) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prf {
    /// AES-256 of the counter (FIPS 197): 16-byte blocks.
    ///
    /// A permutation: its blocks never collide, which an observer of 2^64 blocks could tell from
    /// random. Fortuna serves at most 2^20 bytes under one key for that reason (FS&K 9.4).
    Aes256,
    /// ChaCha20 (RFC 8439 block function): 64-byte blocks, the counter in words 12 to 15.
    ChaCha20,
}

impl Prf {
    /// Both functions.
    pub const ALL: [Prf; 2] = [Prf::Aes256, Prf::ChaCha20];

    /// The length of a block in bytes: 16 or 64.
    #[must_use]
    pub const fn block_bytes(self) -> usize {
        match self {
            Prf::Aes256 => 16,
            Prf::ChaCha20 => 64,
        }
    }

    /// The counter steps that `bytes` of output cost: a partial block costs a whole step.
    #[must_use]
    pub const fn blocks(self, bytes: usize) -> u128 {
        bytes.div_ceil(self.block_bytes()) as u128
    }

    /// The name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Prf::Aes256 => "aes256",
            Prf::ChaCha20 => "chacha20",
        }
    }
}

impl fmt::Display for Prf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text names neither function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPrf;

impl fmt::Display for UnknownPrf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected aes256 or chacha20")
    }
}

impl core::error::Error for UnknownPrf {}

impl FromStr for Prf {
    type Err = UnknownPrf;

    /// Reads a name; `aes` and `chacha`, the words of the vector files, are understood too.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "aes256" | "aes" => Ok(Prf::Aes256),
            "chacha20" | "chacha" => Ok(Prf::ChaCha20),
            _ => Err(UnknownPrf),
        }
    }
}
