//! Known answers: runs the line format of `vectors/` through the real pipeline, with the clock and the
//! sources replaced by the file.
//!
//! ```text
//! begin name=N cipher=aes|chacha concurrent=0|1   a fresh engine with one node
//! ev ctr=HHHHHHHH size=S data=HEX dest=D src=other|vmgenid
//!                                                 an event: into pool D mod 32, or pool 0 from vmgenid
//! pre STATE                                       a reseed if pool 0 has 64 bytes; then the state
//! read n=N out=HEX                                a read of N bytes ("-" for none)
//! read n=N sha256=HEX first=HEX last=HEX          the same, where N is large
//!   after STATE                                   the state after the last read
//! gen cipher=.. concurrent=.. K=HEX C=HEX         a fresh generator with this K and C; read and after follow
//! end
//! noise name=N symbol=bit|byte|word claim=C       a source of which nothing is known, that claims C / 256 bits a byte
//! samples data=HEX                                its next samples, judged at once
//! samples n=N data=HEX                            the same, N times
//!   health state=S credited=B mixed=B discarded=B repetition=I,P proportion=I,P
//!                                                 what became of it: its state, the bytes used and thrown away,
//!                                                 the failures of each test, intermittent and permanent
//! STATE: reseeds=R len0=L C=HEX(16 bytes, little endian) K=HEX(32 bytes)|none
//! ```
//!
//! Lines that start with `#` and empty lines are comments. What stands in a file as an answer may be left out:
//! [`run`] computes it, and compares it where it is there.
//!
//! ```
//! use wellspring::replay::{Replay, Comparison};
//! let mut replay = Replay::new();
//! replay.line("gen cipher=aes concurrent=1 K=0000000000000000000000000000000000000000000000000000000000000000 \
//!              C=01000000000000000000000000000000")?;
//! let answer = replay.line("read n=4")?.expect("a read has an answer");
//! assert_eq!(answer.comparison, Comparison::NothingExpected);
//! # Ok::<(), wellspring::replay::ReplayError>(())
//! ```

mod fields;
mod machine;
mod noise;
mod output;
mod pipeline;

pub use pipeline::{Event, Pipeline, State};

use fields::Fields;
use machine::Machine;
use noise::Noise;
use output::Output;
use std::fmt;
use std::io::BufRead;
use wellspring_core::Backend;

/// A replay at work: takes lines, one after the other.
pub struct Replay {
    pipeline: Box<dyn Pipeline>,
    is_begun: bool,
    noise: Option<Noise>,
}

/// What the engine says to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The line with the engine's results, in the file's format.
    pub text: String,
    /// How it compares with what the file says.
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

/// Why a line could not be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplayError {
    /// The line starts with no known word.
    UnknownLine,
    /// A field is missing; its name.
    Missing(&'static str),
    /// A field's value is not of its form; its name.
    Malformed(&'static str),
    /// An event, read or state before any `begin` or `gen`, samples before any `noise`, or either after `end`.
    NoVector,
    /// A read of more than 1 GiB, or samples of more than 1 MiB in a line.
    TooLong,
    /// The file cannot be read, or is not text.
    Unreadable,
    /// The [`Pipeline`] cannot do what the line asks for.
    Refused,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::UnknownLine => f.write_str("unknown kind of line"),
            ReplayError::Missing(field) => write!(f, "{field}= is missing"),
            ReplayError::Malformed(field) => write!(f, "{field}= is malformed"),
            ReplayError::NoVector => f.write_str("no begin, gen or noise before it"),
            ReplayError::TooLong => {
                f.write_str("a read of more than 1 GiB, or samples of more than 1 MiB")
            }
            ReplayError::Unreadable => f.write_str("cannot be read as text"),
            ReplayError::Refused => f.write_str("refused by what is replayed on"),
        }
    }
}

impl std::error::Error for ReplayError {}

/// The longest read in bytes, so that a file cannot ask for all memory.
const MAX_READ_BYTES: usize = 1 << 30;

impl Replay {
    /// A replay that has seen nothing, with the best backends of this CPU.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Machine::new(None))
    }

    /// A replay with a given backend for its function; the other function runs its best.
    #[must_use]
    pub fn with_backend(backend: Backend) -> Self {
        Self::on(Machine::new(Some(backend)))
    }

    /// A replay on another implementation than the engine's.
    #[must_use]
    pub fn on(pipeline: impl Pipeline + 'static) -> Self {
        Self {
            pipeline: Box::new(pipeline),
            is_begun: false,
            noise: None,
        }
    }

    /// Runs a line. `None` for lines that have no answer: comments, events, beginnings and ends.
    ///
    /// # Errors
    ///
    /// When the line cannot be understood or has no place here. The replay can go on with the next.
    pub fn line(&mut self, line: &str) -> Result<Option<Answer>, ReplayError> {
        let line = line.trim();
        if line.starts_with('#') {
            return Ok(None);
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let fields = Fields(rest);
        match word {
            "" => Ok(None),
            "begin" | "gen" => {
                let state = match word {
                    "gen" => Some((fields.key()?, fields.counter()?)),
                    _ => None,
                };
                let (prf, concurrent) = (fields.parsed("cipher")?, fields.concurrent()?);
                self.pipeline.begin(prf, concurrent)?;
                self.is_begun = true;
                if let Some((key, counter)) = state {
                    self.pipeline.force(key, counter)?;
                }
                Ok(None)
            }
            "noise" => {
                self.noise = Some(Noise::new(fields)?);
                Ok(None)
            }
            "samples" => {
                self.noise()?.judge(fields)?;
                Ok(None)
            }
            "health" => {
                let state = self.noise()?.state();
                Ok(Some(compare("  health ", state, rest)))
            }
            "end" => {
                self.is_begun = false;
                self.noise = None;
                Ok(None)
            }
            "ev" => {
                let event = fields.event()?;
                self.pipeline()?.absorb(&event)?;
                Ok(None)
            }
            "pre" => {
                let pipeline = self.pipeline()?;
                pipeline.reseed_if_due()?;
                Ok(Some(compare("pre ", pipeline.state()?.to_string(), rest)))
            }
            "after" => {
                let state = self.pipeline()?.state()?;
                Ok(Some(compare("  after ", state.to_string(), rest)))
            }
            "read" => {
                let length = fields.length()?;
                if length > MAX_READ_BYTES {
                    return Err(ReplayError::TooLong);
                }
                let pipeline = self.pipeline()?;
                let mut output = Output(vec![0; length]);
                pipeline.read(&mut output.0)?;
                Ok(Some(compare("read ", output.describe(fields), rest)))
            }
            _ => Err(ReplayError::UnknownLine),
        }
    }

    fn noise(&mut self) -> Result<&mut Noise, ReplayError> {
        self.noise.as_mut().ok_or(ReplayError::NoVector)
    }

    fn pipeline(&mut self) -> Result<&mut dyn Pipeline, ReplayError> {
        match self.is_begun {
            true => Ok(&mut *self.pipeline),
            false => Err(ReplayError::NoVector),
        }
    }
}

impl Default for Replay {
    fn default() -> Self {
        Self::new()
    }
}

/// Compares the engine's fields with those of the file, as many as the file has.
fn compare(word: &str, computed: String, expected: &str) -> Answer {
    // The length is the question, not the answer.
    let expected = || Fields(expected).iter().filter(|(name, _)| *name != "n");
    let is_same = |(name, value): (&str, &str)| {
        let computed = Fields(&computed).get(name);
        computed.is_some_and(|computed| computed.eq_ignore_ascii_case(value))
    };
    let comparison = match (expected().next(), expected().all(is_same)) {
        (None, _) => Comparison::NothingExpected,
        (Some(_), true) => Comparison::Same,
        (Some(_), false) => Comparison::Different,
    };
    Answer {
        text: format!("{word}{computed}"),
        comparison,
    }
}

/// What a whole file came to.
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

#[cfg(test)]
mod tests;
