//! The frames of the bulk protocol.
//!
//! Every frame begins with 8 bytes: `w`, a kind, two zeros, and the length of what follows or is asked for, 32 bits,
//! little endian. The client writes any number of requests without waiting; the service answers in their order.
//!
//! | request | kind | length | then |
//! |---|---|---|---|
//! | read | 1 | the bytes wanted, up to 2^24 | |
//! | mix | 2 | up to 4096 | the bytes to mix in, without credit |
//! | bump | 3 | 0, or 32 to 4096 | a secret that no other copy of the machine gets |
//!
//! The last one changes the generation page: root, the page's owner, and by vsock the host may ask for that. Before that the
//! kernel's generator takes in the secret, if there is one, without credit, and new keys.
//!
//! | answer | kind | length | then |
//! |---|---|---|---|
//! | bytes | 1 | as asked | the random bytes |
//! | mixed | 2 | 0 | |
//! | not seeded | 3 | 0 | the service has no seed yet: ask later |
//! | malformed | 4 | 0 | the service closes the connection |
//! | bumped | 5 | 0 | the kernel was reseeded, and the generation page has changed |
//! | refused | 6 | 0 | this client may not change it |
//! | bumped without the kernel | 7 | 0 | the page has changed; the kernel could not be reseeded |

/// The length of a frame's head in bytes.
pub const HEAD_BYTES: usize = 8;

/// The most bytes that one request may ask for: 16 MiB.
pub const MAX_READ_BYTES: u32 = 1 << 24;

/// The most bytes that one request may mix in.
pub const MAX_MIX_BYTES: u32 = 4096;

/// The fewest bytes of the secret in an order.
pub const MIN_NONCE_BYTES: u32 = 32;

/// The most bytes of the secret in an order.
pub const MAX_NONCE_BYTES: u32 = MAX_MIX_BYTES;

const MAGIC: u8 = b'w';

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Asks for this number of random bytes, at most [`MAX_READ_BYTES`].
    Read(u32),
    /// Announces this number of bytes to mix in, at most [`MAX_MIX_BYTES`]. They follow the head.
    Mix(u32),
    /// Orders that the generation page changes. A secret of so many bytes follows, or none: 0, or [`MIN_NONCE_BYTES`] to
    /// [`MAX_NONCE_BYTES`].
    Bump(u32),
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
    /// The kernel was reseeded, and the generation page has changed.
    Bumped,
    /// This client may not change the page.
    Refused,
    /// The generation page has changed. The kernel could not be reseeded.
    BumpedWithoutKernel,
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
            (3, length @ (0 | MIN_NONCE_BYTES..=MAX_NONCE_BYTES)) => Ok(Self::Bump(length)),
            _ => Err(Malformed),
        }
    }

    /// The head of this request.
    #[must_use]
    pub fn head(self) -> [u8; HEAD_BYTES] {
        match self {
            Self::Read(length) => head(1, length),
            Self::Mix(length) => head(2, length),
            Self::Bump(length) => head(3, length),
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
            (7, 0) => Ok(Self::BumpedWithoutKernel),
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
            Self::BumpedWithoutKernel => head(7, 0),
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
            Request::Bump(0),
            Request::Bump(MIN_NONCE_BYTES),
            Request::Bump(MAX_NONCE_BYTES),
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
            Answer::BumpedWithoutKernel,
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
        for length in [1, MIN_NONCE_BYTES - 1, MAX_NONCE_BYTES + 1, u32::MAX] {
            assert_eq!(Request::parse(&head(3, length)), Err(Malformed), "{length}");
        }
        assert_eq!(Answer::parse(&head(2, 1)), Err(Malformed));
    }
}
