//! The engine's results for a line, in the form that the line asks for, compared with the file's.

use crate::fields::{Fields, hex};
use wellspring_core::sha256::Sha256;

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
