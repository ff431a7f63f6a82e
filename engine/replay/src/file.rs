//! A whole file, line by line.

use crate::{Answer, Comparison, Replay, ReplayError};
use std::io::BufRead;
use wellspring_core::Prf;

/// The result of a whole file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The vectors begun (`begin`, `gen` and `noise`).
    pub vectors: u64,
    /// The answers that are the same.
    pub same: u64,
    /// The answers that differ.
    pub different: u64,
    /// The answers that the file leaves open.
    pub open: u64,
}

/// Whether a line begins a vector.
#[must_use]
pub fn begins_vector(line: &str) -> bool {
    let word = line.split_whitespace().next();
    matches!(word, Some("begin" | "gen" | "noise"))
}

/// Runs a file and reports every answer with its line number, from 1.
///
/// # Errors
///
/// The number of the first line that cannot be replayed, and why.
pub fn run(
    mut replay: Replay,
    file: impl BufRead,
    mut report: impl FnMut(usize, &str, &Answer),
) -> Result<Summary, (usize, ReplayError)> {
    let mut summary = Summary::default();
    for (number, line) in (1..).zip(file.lines()) {
        let line = line.map_err(|_| (number, ReplayError::Unreadable))?;
        let answer = replay.line(&line).map_err(|error| (number, error))?;
        if begins_vector(&line) {
            summary.vectors += 1;
        }
        if let Some(answer) = answer {
            match answer.comparison {
                Comparison::Same => summary.same += 1,
                Comparison::Different => summary.different += 1,
                Comparison::NothingExpected => summary.open += 1,
            }
            report(number, &line, &answer);
        }
    }
    Ok(summary)
}

/// Runs the vectors of a file that use one function, and reports nothing but the result.
///
/// # Errors
///
/// The number of the first line that cannot be replayed, and why.
pub fn run_function(replay: Replay, prf: Prf, file: &str) -> Result<Summary, (usize, ReplayError)> {
    let cipher = match prf {
        Prf::Aes256 => "cipher=aes ",
        Prf::ChaCha20 => "cipher=chacha ",
    };
    let mut is_wanted = false;
    // Other lines are left empty, so that all keep their numbers.
    let lines = file.lines().map(|line| {
        if begins_vector(line) {
            is_wanted = line.contains(cipher);
        }
        if is_wanted { line } else { "" }
    });
    let lines: Vec<&str> = lines.collect();
    run(replay, lines.join("\n").as_bytes(), |_, _, _| {})
}
