//! The engine's results for a line, compared with the file's.

use crate::fields::Fields;

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
