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
    /// Change the generation page, if the other end may order that.
    Bump {
        /// The length of the request in bytes.
        used: usize,
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
    pub head: Vec<u8>,
    /// The number of random bytes.
    pub random: u64,
    /// Whether the connection is closed after it.
    pub is_last: bool,
}
