//! Takes the lines of a file, one after the other.

use crate::fields::{Answer, Comparison, Fields, Output, ReplayError};
use crate::pipeline::{CoreDriver, Pipeline, RecordedSource};
use std::io::BufRead;
use wellspring_core::{Backend, Prf};

/// The longest read in bytes, so that a file cannot ask for all memory.
const MAX_READ_BYTES: usize = 1 << 30;

/// A replay in progress: takes lines, one after the other.
pub struct Replay {
    pipeline: Box<dyn Pipeline>,
    is_begun: bool,
    source: Option<RecordedSource>,
}

impl Replay {
    /// A replay that has seen no line, with the best backends of this CPU.
    #[must_use]
    pub fn new() -> Self {
        Self::on(CoreDriver::new(None))
    }

    /// A replay with a given backend for its function; the other function runs its best.
    #[must_use]
    pub fn with_backend(backend: Backend) -> Self {
        Self::on(CoreDriver::new(Some(backend)))
    }

    /// A replay on another implementation than the engine's.
    #[must_use]
    pub fn on(pipeline: impl Pipeline + 'static) -> Self {
        Self {
            pipeline: Box::new(pipeline),
            is_begun: false,
            source: None,
        }
    }

    /// Runs a line. `None` for lines that have no answer: comments, events, beginnings and ends.
    ///
    /// # Errors
    ///
    /// If the line cannot be understood, or cannot be run at this place. The replay can go on with the next.
    pub fn line(&mut self, line: &str) -> Result<Option<Answer>, ReplayError> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let fields = Fields(rest);
        let (start, computed) = match word {
            "begin" => return self.begin(fields, None),
            "gen" => return self.begin(fields, Some((fields.key()?, fields.counter()?))),
            "noise" => return self.begin_source(fields),
            "samples" => return self.samples(fields),
            "ev" => return self.event(fields),
            "end" => return Ok(self.end()),
            "health" => ("  health ", self.source()?.state()),
            "pre" => {
                self.pipeline()?.reseed_if_due()?;
                ("pre ", self.pipeline()?.state()?.to_string())
            }
            "after" => ("  after ", self.pipeline()?.state()?.to_string()),
            "read" => ("read ", self.read(fields)?),
            _ => return Err(ReplayError::UnknownLine),
        };
        Ok(Some(Answer::compare(start, computed, rest)))
    }

    fn begin(
        &mut self,
        fields: Fields<'_>,
        forced: Option<([u8; 32], u128)>,
    ) -> Result<Option<Answer>, ReplayError> {
        self.pipeline.begin(fields.prf()?, fields.concurrent()?)?;
        self.is_begun = true;
        if let Some((key, counter)) = forced {
            self.pipeline.force(key, counter)?;
        }
        Ok(None)
    }

    fn begin_source(&mut self, fields: Fields<'_>) -> Result<Option<Answer>, ReplayError> {
        self.source = Some(RecordedSource::new(fields)?);
        Ok(None)
    }

    fn samples(&mut self, fields: Fields<'_>) -> Result<Option<Answer>, ReplayError> {
        self.source()?.judge(fields)?;
        Ok(None)
    }

    fn event(&mut self, fields: Fields<'_>) -> Result<Option<Answer>, ReplayError> {
        let event = fields.event()?;
        self.pipeline()?.absorb(&event)?;
        Ok(None)
    }

    fn end(&mut self) -> Option<Answer> {
        self.is_begun = false;
        self.source = None;
        None
    }

    fn read(&mut self, fields: Fields<'_>) -> Result<String, ReplayError> {
        let length = fields.length()?;
        if length > MAX_READ_BYTES {
            return Err(ReplayError::TooLong);
        }
        let pipeline = self.pipeline()?;
        let mut output = Output(vec![0; length]);
        pipeline.read(&mut output.0)?;
        Ok(output.describe(fields))
    }

    fn source(&mut self) -> Result<&mut RecordedSource, ReplayError> {
        self.source.as_mut().ok_or(ReplayError::NoVector)
    }

    fn pipeline(&mut self) -> Result<&mut dyn Pipeline, ReplayError> {
        if self.is_begun {
            Ok(&mut *self.pipeline)
        } else {
            Err(ReplayError::NoVector)
        }
    }
}

impl Default for Replay {
    fn default() -> Self {
        Self::new()
    }
}

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
