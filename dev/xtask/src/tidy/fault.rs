//! A breach of a rule, and the files that no rule is for.

use std::fmt;

/// A breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) path: String,
    /// 0: the whole file.
    pub(super) line: usize,
    pub(super) note: String,
}

impl Fault {
    pub(super) fn new(path: &str, line: usize, note: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            note: note.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, line, note) = (&self.path, self.line, &self.note);
        match self.line {
            0 => write!(f, "{path}: {note}"),
            _ => write!(f, "{path}:{line}: {note}"),
        }
    }
}

/// Whether a file holds data or a licence: not written line by line for this project.
pub(super) fn is_data(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_vector =
        path.starts_with("vectors/") && !path.ends_with(".py") && !path.ends_with(".md");
    is_vector
        || path.starts_with("dev/fuzz/seeds/")
        || name.starts_with("LICENSE")
        || name == "copyright"
        || name.ends_with(".lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_data_and_the_programs_that_make_them_are_not() {
        assert!(is_data("vectors/seed-sequence.txt") && is_data("crates/x/LICENSE-MIT"));
        assert!(!is_data("vectors/make-pseudo.py") && !is_data("README.md"));
    }
}
