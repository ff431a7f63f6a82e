//! A mistake in a configuration, with its place.

use core::fmt;
use core::ops::Range;
use std::io;
use std::path::{Path, PathBuf};

/// A mistake in a configuration, printed as compilers do: file, line, column, reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    file: PathBuf,
    /// Line and column, from 1. `None` if the file cannot be read.
    place: Option<(usize, usize)>,
    reason: String,
}

impl ConfigFault {
    /// The fault of a file or folder that cannot be read.
    pub(super) fn unreadable(file: &Path, reason: impl fmt::Display) -> Self {
        Self {
            file: file.into(),
            place: None,
            reason: reason.to_string(),
        }
    }

    /// An error of the system for a file or folder, and what a user without the right to read it can do.
    pub(super) fn closed(file: &Path, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::PermissionDenied {
            let words = "run this as the user that starts the service, or give --config and a file of your own";
            return Self::unreadable(file, format!("{error}; {words}"));
        }
        Self::unreadable(file, error)
    }

    /// An error of the TOML reader, at `span` of `text`.
    pub(super) fn at(file: &Path, text: &str, span: Option<Range<usize>>, reason: &str) -> Self {
        let start = span.map_or(0, |span| span.start.min(text.len()));
        let before = String::from_utf8_lossy(&text.as_bytes()[..start]).into_owned();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let lines: Vec<&str> = reason.lines().map(str::trim).collect();
        Self {
            file: file.into(),
            place: Some((line, column)),
            reason: lines.join("; "),
        }
    }

    /// Line and column, from 1. `None` if the file cannot be read.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.place
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some((line, column)) = self.place {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {}", self.reason)
    }
}

impl core::error::Error for ConfigFault {}
