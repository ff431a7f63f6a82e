//! Takes the lines of a file, one after the other.

use crate::answer::Answer;
use crate::core_driver::CoreDriver;
use crate::error::ReplayError;
use crate::fields::Fields;
use crate::output::Output;
use crate::pipeline::Pipeline;
use crate::recorded_source::RecordedSource;
use wellspring_core::Backend;

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
