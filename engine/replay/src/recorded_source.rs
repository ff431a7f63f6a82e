//! Recorded samples through the health tests.

use crate::fields::{Fields, ReplayError};
use wellspring_core::health::{Action, Findings, Grade, Health, Test};
use wellspring_core::source::{MinEntropy, Symbol};

/// The most samples of one line in bytes, so that a short file cannot take long.
const MAX_SAMPLE_BYTES: usize = 1 << 20;

/// A source whose samples come from a file.
pub(crate) struct RecordedSource {
    health: Health,
    claim: MinEntropy,
    symbol: Symbol,
    findings: Findings,
    /// The bytes credited, mixed and discarded.
    bytes: [u64; 3],
}

impl RecordedSource {
    /// A fresh source: `symbol=` and `claim=`.
    pub(crate) fn new(fields: Fields<'_>) -> Result<Self, ReplayError> {
        let symbols = [Symbol::Bit, Symbol::Byte, Symbol::Word];
        let name: String = fields.parsed("symbol")?;
        let symbol = symbols.into_iter().find(|symbol| symbol.name() == name);
        Ok(Self {
            health: Health::ZERO,
            claim: MinEntropy::per_byte_256ths(fields.parsed("claim")?),
            symbol: symbol.ok_or(ReplayError::Malformed("symbol"))?,
            findings: Findings::default(),
            bytes: [0; 3],
        })
    }

    /// Judges the samples of a line, repeated `n=` times if the line says so.
    pub(crate) fn judge(&mut self, fields: Fields<'_>) -> Result<(), ReplayError> {
        let samples = fields.samples()?;
        let times = if fields.get("n").is_some() {
            fields.length()?
        } else {
            1
        };
        if samples.len().saturating_mul(times) > MAX_SAMPLE_BYTES {
            return Err(ReplayError::TooLong);
        }
        if samples.len() % self.symbol.bytes() != 0 {
            return Err(ReplayError::Malformed("data"));
        }
        if samples.is_empty() {
            return Ok(());
        }
        for _ in 0..times {
            let outcome = self.health.judge(self.claim, self.symbol, &samples);
            self.findings.add(&outcome.findings);
            let count = match outcome.action {
                Action::Credit => 0,
                Action::Mix => 1,
                Action::Discard => 2,
            };
            self.bytes[count] += samples.len() as u64;
        }
        Ok(())
    }

    /// The source's state and its counts, as fields of a line.
    pub(crate) fn state(&self) -> String {
        let failures = |test| {
            let count = |grade| self.findings.count(test, grade);
            let (some, all) = (count(Grade::Intermittent), count(Grade::Permanent));
            format!("{some},{all}")
        };
        let [credited, mixed, discarded] = self.bytes;
        format!(
            "state={} credited={credited} mixed={mixed} discarded={discarded} repetition={} proportion={}",
            self.health.state().name(),
            failures(Test::RepetitionCount),
            failures(Test::AdaptiveProportion),
        )
    }
}
