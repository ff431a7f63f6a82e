//! The interface of the protocols. Each is a pure function of the bytes that came in, which fuzzers call.

/// The facts about the service that a protocol may use.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Whether the engine is seeded with 128 bits.
    pub is_ready: bool,
    /// The process number of the service.
    pub process: u32,
}

/// The next step of a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Wait for more input: the request is not complete.
    More,
    /// Answer a complete request.
    Answer {
        /// The length of the request in bytes.
        used: usize,
        /// Bytes of the request that are to be mixed in.
        mix: &'a [u8],
        /// The answer to send.
        answer: Answer,
    },
    /// The request is complete and cannot be answered before the engine is seeded.
    Wait,
    /// The input is no request of the protocol. Send the answer and close the connection.
    Hostile(Answer),
}

/// An answer: a head, then random bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The bytes before the random ones.
    pub head: Head,
    /// The number of random bytes.
    pub random: u64,
    /// Whether the connection is closed after it.
    pub is_last: bool,
}

/// The bytes before the random ones. A short head needs no allocation.
#[derive(Debug, PartialEq, Eq)]
pub enum Head {
    /// The first bytes of the array, as many as the number says.
    Short([u8; Self::SHORT_BYTES], usize),
    /// A document.
    Document(Vec<u8>),
}

impl Head {
    /// The most bytes of a short head.
    pub const SHORT_BYTES: usize = 16;

    /// A head of the first 16 bytes of `bytes`, or of all if there are fewer.
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
