//! The frames of the bulk protocol.
//!
//! Every frame begins with 8 bytes: `w`, a kind, two zeros, and the length of what follows or is asked for, 32 bits,
//! little endian. The client writes any number of requests without waiting; the service answers in their order.
//!
//! | request | kind | length | then |
//! |---|---|---|---|
//! | read | 1 | the bytes wanted, up to 2^24 | |
//! | mix | 2 | up to 4096 | the bytes to mix in, without credit |
//! | bump | 3 | 0 | |
//!
//! The last one changes the generation page: root, the page's owner, and by vsock the host may ask for that.
//!
//! | answer | kind | length | then |
//! |---|---|---|---|
//! | bytes | 1 | as asked | the random bytes |
//! | mixed | 2 | 0 | |
//! | not seeded | 3 | 0 | the service has no seed yet: ask later |
//! | malformed | 4 | 0 | the service closes the connection |
//! | bumped | 5 | 0 | the generation page has changed |
//! | refused | 6 | 0 | this client may not change it |

/// The length of a frame's head in bytes.
pub const HEAD_BYTES: usize = 8;

/// The most bytes that one request may ask for: 16 MiB.
pub const MAX_READ_BYTES: u32 = 1 << 24;

/// The most bytes that one request may mix in.
pub const MAX_MIX_BYTES: u32 = 4096;

const MAGIC: u8 = b'w';

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Asks for this number of random bytes, at most [`MAX_READ_BYTES`].
    Read(u32),
    /// Announces this number of bytes to mix in, at most [`MAX_MIX_BYTES`]. They follow the head.
    Mix(u32),
    /// Orders that the generation page changes.
    Bump,
}

/// The head of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Announces this number of random bytes. They follow the head.
    Bytes(u32),
    /// The bytes were mixed in.
    Mixed,
    /// The service has no seed yet.
    NotSeeded,
    /// The service cannot read the request, and closes the connection.
    Malformed,
    /// The generation page has changed.
    Bumped,
    /// This client may not change the page.
    Refused,
}

/// The error for 8 bytes that are no head of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Malformed;

impl Request {
    /// Reads a head.
    ///
    /// # Errors
    ///
    /// [`Malformed`]: another first byte, an unknown kind, bytes that are not zero where zeros belong, or a length that
    /// is too great.
    pub fn parse(head: &[u8; HEAD_BYTES]) -> Result<Self, Malformed> {
        match fields(head)? {
            (1, length @ 0..=MAX_READ_BYTES) => Ok(Self::Read(length)),
            (2, length @ 0..=MAX_MIX_BYTES) => Ok(Self::Mix(length)),
            (3, 0) => Ok(Self::Bump),
            _ => Err(Malformed),
        }
    }

    /// The head of this request.
    #[must_use]
    pub fn head(self) -> [u8; HEAD_BYTES] {
        match self {
            Self::Read(length) => head(1, length),
            Self::Mix(length) => head(2, length),
            Self::Bump => head(3, 0),
        }
    }
}

impl Answer {
    /// Reads a head.
    ///
    /// # Errors
    ///
    /// [`Malformed`]: another first byte, an unknown kind, bytes that are not zero where zeros belong, or a wrong
    /// length.
    pub fn parse(head: &[u8; HEAD_BYTES]) -> Result<Self, Malformed> {
        match fields(head)? {
            (1, length @ 0..=MAX_READ_BYTES) => Ok(Self::Bytes(length)),
            (2, 0) => Ok(Self::Mixed),
            (3, 0) => Ok(Self::NotSeeded),
            (4, 0) => Ok(Self::Malformed),
            (5, 0) => Ok(Self::Bumped),
            (6, 0) => Ok(Self::Refused),
            _ => Err(Malformed),
        }
    }

    /// The head of this answer.
    #[must_use]
    pub fn head(self) -> [u8; HEAD_BYTES] {
        match self {
            Self::Bytes(length) => head(1, length),
            Self::Mixed => head(2, 0),
            Self::NotSeeded => head(3, 0),
            Self::Malformed => head(4, 0),
            Self::Bumped => head(5, 0),
            Self::Refused => head(6, 0),
        }
    }
}

fn head(kind: u8, length: u32) -> [u8; HEAD_BYTES] {
    let [a, b, c, d] = length.to_le_bytes();
    [MAGIC, kind, 0, 0, a, b, c, d]
}

/// Kind and length.
fn fields(head: &[u8; HEAD_BYTES]) -> Result<(u8, u32), Malformed> {
    match *head {
        [MAGIC, kind, 0, 0, a, b, c, d] => Ok((kind, u32::from_le_bytes([a, b, c, d]))),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_back_as_they_were_written() {
        for request in [
            Request::Read(0),
            Request::Read(MAX_READ_BYTES),
            Request::Mix(MAX_MIX_BYTES),
            Request::Bump,
        ] {
            assert_eq!(Request::parse(&request.head()), Ok(request));
        }
        for answer in [
            Answer::Bytes(7),
            Answer::Mixed,
            Answer::NotSeeded,
            Answer::Malformed,
            Answer::Bumped,
            Answer::Refused,
        ] {
            assert_eq!(Answer::parse(&answer.head()), Ok(answer));
        }
    }

    #[test]
    fn what_is_too_long_or_unknown_or_not_zero_is_malformed() {
        let good = Request::Read(1).head();
        for place in 0..4 {
            let mut bad = good;
            bad[place] ^= 0x40;
            assert_eq!(Request::parse(&bad), Err(Malformed), "byte {place}");
        }
        assert_eq!(
            Request::parse(&Request::Read(MAX_READ_BYTES + 1).head()),
            Err(Malformed)
        );
        assert_eq!(
            Request::parse(&Request::Mix(MAX_MIX_BYTES + 1).head()),
            Err(Malformed)
        );
        assert_eq!(Answer::parse(&head(2, 1)), Err(Malformed));
    }
}
