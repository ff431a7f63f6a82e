//! What a protocol makes of the bytes that came in: pure functions, which fuzzers call.

/// What a protocol may know.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Whether the engine is seeded with 128 bits.
    pub is_ready: bool,
    /// The process of the service.
    pub process: u32,
}

/// What to do next on a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The request is not complete.
    More,
    /// A request of `used` bytes.
    Answer {
        /// The bytes of the request.
        used: usize,
        /// What came with it, to be mixed in.
        mix: &'a [u8],
        /// What to send.
        answer: Answer,
    },
    /// The request is complete and cannot be answered before the engine is seeded.
    Wait,
    /// What came in is none of the protocol's. Send the answer and close the connection.
    Hostile(Answer),
}

/// What is sent: a head, then random bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The bytes before the random ones.
    pub head: Head,
    /// How many random bytes.
    pub random: u64,
    /// Whether the connection is closed behind it.
    pub is_last: bool,
}

/// The bytes before the random ones. The short ones need no memory of their own.
#[derive(Debug, PartialEq, Eq)]
pub enum Head {
    /// So many of these bytes.
    Short([u8; Self::SHORT_BYTES], usize),
    /// A document.
    Document(Vec<u8>),
}

impl Head {
    /// The most that a short head holds.
    pub const SHORT_BYTES: usize = 16;

    /// Up to 16 bytes.
    #[must_use]
    pub fn short(bytes: &[u8]) -> Self {
        let length = bytes.len().min(Self::SHORT_BYTES);
        let mut short = [0; Self::SHORT_BYTES];
        short[..length].copy_from_slice(&bytes[..length]);
        Self::Short(short, length)
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(bytes, length) => &bytes[..*length],
            Self::Document(bytes) => bytes,
        }
    }
}

impl Default for Head {
    fn default() -> Self {
        Self::Short([0; Self::SHORT_BYTES], 0)
    }
}
