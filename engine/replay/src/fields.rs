//! The fields of a line, the bytes in them as hexadecimal digits, and the reasons why a line cannot be replayed.

use std::fmt;
use std::str::FromStr;
use wellspring_core::pool::Event;
use wellspring_core::sha256::Sha256;
use wellspring_core::{KEY_BYTES, Prf};

/// The fields of a line, after its first word.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a str);

impl<'a> Fields<'a> {
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .split_whitespace()
            .filter_map(|field| field.split_once('='))
    }

    pub(crate) fn get(self, name: &str) -> Option<&'a str> {
        self.iter()
            .find(|(other, _)| *other == name)
            .map(|(_, value)| value)
    }

    fn required(self, name: &'static str) -> Result<&'a str, ReplayError> {
        self.get(name).ok_or(ReplayError::Missing(name))
    }

    pub(crate) fn parsed<T: FromStr>(self, name: &'static str) -> Result<T, ReplayError> {
        let value = self.required(name)?;
        value.parse().map_err(|_| ReplayError::Malformed(name))
    }

    pub(crate) fn length(self) -> Result<usize, ReplayError> {
        self.parsed("n")
    }

    /// The cipher by the short name of the vector files, or by its own.
    pub(crate) fn prf(self) -> Result<Prf, ReplayError> {
        match self.required("cipher")? {
            "aes" => Ok(Prf::Aes256),
            "chacha" => Ok(Prf::ChaCha20),
            _ => self.parsed("cipher"),
        }
    }

    pub(crate) fn concurrent(self) -> Result<bool, ReplayError> {
        match self.required("concurrent")? {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(ReplayError::Malformed("concurrent")),
        }
    }

    pub(crate) fn key(self) -> Result<[u8; KEY_BYTES], ReplayError> {
        self.bytes("K")
    }

    pub(crate) fn counter(self) -> Result<u128, ReplayError> {
        Ok(u128::from_le_bytes(self.bytes("C")?))
    }

    fn bytes<const N: usize>(self, name: &'static str) -> Result<[u8; N], ReplayError> {
        let bytes = hex::decode(self.required(name)?).ok_or(ReplayError::Malformed(name))?;
        bytes.try_into().map_err(|_| ReplayError::Malformed(name))
    }

    pub(crate) fn samples(self) -> Result<Vec<u8>, ReplayError> {
        hex::decode(self.required("data")?).ok_or(ReplayError::Malformed("data"))
    }

    /// An event: of the data as printed, the first `size` bytes count.
    pub(crate) fn event(self) -> Result<Event, ReplayError> {
        let counter = u32::from_str_radix(self.required("ctr")?, 16);
        let counter = counter.map_err(|_| ReplayError::Malformed("ctr"))?;
        let size: usize = self.parsed("size")?;
        let data = match self.required("data")? {
            "-" => Vec::new(),
            digits => hex::decode(digits).ok_or(ReplayError::Malformed("data"))?,
        };
        let data = data.get(..size).ok_or(ReplayError::Malformed("data"))?;
        if data.len() > Event::MAX_BYTES {
            return Err(ReplayError::Malformed("size"));
        }
        let destination: usize = self.parsed("dest")?;
        let destination = match self.required("src")? {
            "vmgenid" => 0,
            "other" => destination,
            _ => return Err(ReplayError::Malformed("src")),
        };
        let mut event = Event::ZERO;
        event.set(counter, destination, data, 0);
        Ok(event)
    }
}

/// The reason why a line could not be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplayError {
    /// The line starts with no known word.
    UnknownLine,
    /// A field is missing; its name.
    Missing(&'static str),
    /// A field's value does not have the right form; its name.
    Malformed(&'static str),
    /// An event, read or state before any `begin` or `gen`, samples before any `noise`, or either after `end`.
    NoVector,
    /// A read of more than 1 GiB, or samples of more than 1 MiB in a line.
    TooLong,
    /// The file cannot be read, or is not text.
    Unreadable,
    /// The [`Pipeline`](crate::Pipeline) cannot do what the line asks for.
    Refused,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::UnknownLine => f.write_str("unknown kind of line"),
            ReplayError::Missing(field) => write!(f, "{field}= is missing"),
            ReplayError::Malformed(field) => write!(f, "{field}= is malformed"),
            ReplayError::NoVector => f.write_str("no begin, gen or noise line before it"),
            ReplayError::TooLong => {
                f.write_str("a read of more than 1 GiB, or samples of more than 1 MiB")
            }
            ReplayError::Unreadable => f.write_str("cannot be read as text"),
            ReplayError::Refused => f.write_str("the implementation refuses it"),
        }
    }
}

impl std::error::Error for ReplayError {}

pub(crate) mod hex {
    //! Bytes as hexadecimal digits.

    /// The digits of some bytes, in lower case; `-` for none.
    pub(crate) fn encode(bytes: &[u8]) -> String {
        if bytes.is_empty() {
            return "-".into();
        }
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The bytes of some digits; `None` for an odd number of them and for other characters.
    pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
        rest.is_empty().then(|| pairs.iter().map(byte).collect())?
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn digits_come_back_as_their_bytes_and_other_text_is_refused() {
            assert_eq!(encode(&[]), "-");
            assert_eq!(decode(&encode(&[0, 0x9f, 255])), Some(vec![0, 0x9f, 255]));
            assert_eq!(decode("aB"), Some(vec![0xab]));
            for text in ["a", "0g", "é0", "-"] {
                assert_eq!(decode(text), None, "{text}");
            }
        }
    }
}

// The engine's results for a line, in the form that the line asks for, compared with the file's.

/// The engine's results for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The line with the engine's results, in the file's format.
    pub text: String,
    /// How it compares with the file.
    pub comparison: Comparison,
}

/// How an answer compares with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// The file has an answer, and it is the same.
    Same,
    /// The file has another answer.
    Different,
    /// The file has none.
    NothingExpected,
}

impl Answer {
    /// Compares the engine's fields with the file's, as many as the file has.
    pub(crate) fn compare(word: &str, computed: String, expected: &str) -> Self {
        // The length is the question, not the answer.
        let expected = || Fields(expected).iter().filter(|(name, _)| *name != "n");
        let is_same = |(name, value): (&str, &str)| {
            let computed = Fields(&computed).get(name);
            computed.is_some_and(|computed| computed.eq_ignore_ascii_case(value))
        };
        let comparison = if expected().next().is_none() {
            Comparison::NothingExpected
        } else if expected().all(is_same) {
            Comparison::Same
        } else {
            Comparison::Different
        };
        Self {
            text: format!("{word}{computed}"),
            comparison,
        }
    }
}

/// Reads up to this length are shown whole, unless the file asks for a digest.
const MAX_SHOWN_BYTES: usize = 300;

/// The output of a read.
pub(crate) struct Output(pub(crate) Vec<u8>);

impl Output {
    /// The bytes in the form that a line asks for; otherwise in the form that suits their number.
    pub(crate) fn describe(&self, asked: Fields<'_>) -> String {
        let bytes = &self.0;
        let asked = |names: &[&str]| names.iter().any(|name| asked.get(name).is_some());
        let (whole, digest) = (asked(&["out"]), asked(&["sha256", "first", "last"]));
        let is_short = bytes.len() <= MAX_SHOWN_BYTES;
        let mut text = format!("n={}", bytes.len());
        if whole || !digest && is_short {
            text += &format!(" out={}", hex::encode(bytes));
        }
        if digest || !whole && !is_short {
            let end = bytes.len().min(32);
            let digest = hex::encode(&Sha256::digest(bytes));
            let (first, last) = (&bytes[..end], &bytes[bytes.len() - end..]);
            text += &format!(
                " sha256={digest} first={} last={}",
                hex::encode(first),
                hex::encode(last)
            );
        }
        text
    }
}
