//! The interface that a replay drives: the engine's pipeline, or another implementation of the same design.

use crate::fields::{Fields, ReplayError, hex};
use std::fmt;
use wellspring_core::distribution::Distribution;
use wellspring_core::generator::Reservation;
use wellspring_core::health::{Action, Findings, Grade, Health, Test};
use wellspring_core::node::{Inlet, Node};
pub use wellspring_core::pool::Event;
use wellspring_core::pool::{RESEED_INTERVAL_MS, Trigger};
use wellspring_core::source::{MinEntropy, Symbol};
use wellspring_core::{Backend, KEY_BYTES, Prf};

/// Pools and a generator without clock and sources: the engine's own, or another implementation of the same design.
///
/// # Errors
///
/// [`ReplayError::Refused`] from an implementation that cannot do what it is asked.
pub trait Pipeline {
    /// Starts from nothing: empty pools, no key, counter 0. `concurrent` chooses the read mode: concurrent or
    /// canonical.
    fn begin(&mut self, prf: Prf, concurrent: bool) -> Result<(), ReplayError>;

    /// Sets the generator's key and counter.
    fn force(&mut self, key: [u8; KEY_BYTES], counter: u128) -> Result<(), ReplayError>;

    /// Absorbs an event into its pool.
    fn absorb(&mut self, event: &Event) -> Result<(), ReplayError>;

    /// Reseeds if pool 0 holds 64 bytes, however soon after the last time.
    fn reseed_if_due(&mut self) -> Result<(), ReplayError>;

    /// One read of as many bytes as `bytes` takes, at most 1 GiB.
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), ReplayError>;

    /// The state of the pools and the generator.
    fn state(&mut self) -> Result<State, ReplayError>;
}

/// The state of the pools and the generator. It shows the key: in a replay that is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Reseeds so far.
    pub reseeds: u64,
    /// The length of pool 0 in bytes.
    pub first_pool_bytes: u64,
    /// The generator's counter C.
    pub counter: u128,
    /// The generator's key K: zeros if it was never seeded.
    pub key: [u8; KEY_BYTES],
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reseeds, length) = (self.reseeds, self.first_pool_bytes);
        let counter = hex::encode(&self.counter.to_le_bytes());
        let key = match (reseeds, self.key == [0; KEY_BYTES]) {
            (0, true) => "none".into(),
            _ => hex::encode(&self.key),
        };
        write!(f, "reseeds={reseeds} len0={length} C={counter} K={key}")
    }
}

/// Drives the pipeline of `wellspring-core`: the pools, one inlet, one node.
pub(crate) struct CoreDriver {
    /// The backend asked for, for its function.
    wanted: Option<Backend>,
    backend: Backend,
    concurrent: bool,
    distribution: Distribution,
    inlet: Inlet,
    node: Node,
    /// The clock: it moves by 100 ms with every `pre`, so that each may reseed.
    now_ms: u64,
}

impl CoreDriver {
    pub(crate) fn new(wanted: Option<Backend>) -> Self {
        Self {
            wanted,
            backend: Backend::detect(Prf::Aes256),
            concurrent: false,
            distribution: Distribution::ZERO,
            inlet: Inlet::ZERO,
            node: Node::ZERO,
            now_ms: 0,
        }
    }
}

impl Pipeline for CoreDriver {
    fn begin(&mut self, prf: Prf, concurrent: bool) -> Result<(), ReplayError> {
        let given = self.wanted.filter(|backend| backend.prf() == prf);
        *self = Self {
            backend: given.unwrap_or_else(|| Backend::detect(prf)),
            concurrent,
            ..Self::new(self.wanted)
        };
        Ok(())
    }

    fn force(&mut self, key: [u8; KEY_BYTES], counter: u128) -> Result<(), ReplayError> {
        self.node.force(&key, counter);
        Ok(())
    }

    fn absorb(&mut self, event: &Event) -> Result<(), ReplayError> {
        self.distribution.absorb(event);
        Ok(())
    }

    fn reseed_if_due(&mut self) -> Result<(), ReplayError> {
        self.now_ms += RESEED_INTERVAL_MS;
        // With one node there are no other seeds to hand out.
        let _ = self
            .distribution
            .deliver(self.now_ms, Trigger::Scheduled, 1, &self.inlet);
        self.node.receive(&self.inlet);
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), ReplayError> {
        if self.concurrent {
            let mut reservation = Reservation::ZERO;
            self.node
                .reserve(self.backend, bytes.len(), &mut reservation);
            reservation.generate(self.backend, bytes);
        } else {
            let mut rest = bytes;
            loop {
                rest = self.node.generator().read_chunk(self.backend, rest);
                if rest.is_empty() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<State, ReplayError> {
        let accumulator = self.distribution.accumulator();
        let (reseeds, first_pool_bytes) = (accumulator.reseeds(), accumulator.first_pool_bytes());
        let (key, counter) = self.node.generator().state();
        Ok(State {
            reseeds: reseeds.into(),
            first_pool_bytes: first_pool_bytes.into(),
            counter,
            key: *key,
        })
    }
}

// Recorded samples through the health tests.

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
