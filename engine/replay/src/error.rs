//! The reason why a line could not be replayed.

use std::fmt;

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
