//! A source in an engine: its health, its turn at the pools, and what became of its samples.

use super::Shared;
use super::harvest::SEEDING_SAMPLE_BYTES;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;
use wellspring_core::harvest::Event;
use wellspring_core::health::{Action, Grade, Health, Outcome, START_UP_SYMBOLS, SourceHealth};
use wellspring_core::source::{Source, SourceError, Speed};
use wellspring_sys::{cpu, system};
use zeroize::Zeroize;

/// The draws in a row that a seeding spends on a source's start-up: enough for one that yields an event of 32
/// bytes at a time, and one more.
const START_UP_DRAWS: u32 = START_UP_SYMBOLS / Event::MAX_BYTES as u32 + 1;

/// A source and what became of its samples.
pub(super) struct Row {
    pub(super) source: Arc<dyn Source>,
    pub(super) counts: Counts,
}

/// In ordinary memory, so that a child process goes on counting.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) bytes: AtomicU64,
    pub(super) discarded_bytes: AtomicU64,
    pub(super) credited_bits: AtomicU64,
    pub(super) errors: AtomicU64,
    /// Why the last draw yielded nothing: 0 if it did, else a [`SourceError`], see [`encode`].
    pub(super) last_error: AtomicU32,
    /// A [`SourceHealth`]. What is out stays out in a child process, whose tests know of nothing.
    state: AtomicU32,
    pub(super) intermittent_failures: AtomicU64,
    pub(super) permanent_failures: AtomicU64,
    /// Whether an operator wants it to start again.
    restart: AtomicBool,
}

impl Counts {
    pub(super) fn state(&self) -> SourceHealth {
        let number = self.state.load(Ordering::Relaxed) as usize;
        SourceHealth::ALL[number % SourceHealth::ALL.len()]
    }

    fn note(&self, outcome: &Outcome, state: SourceHealth) {
        self.state.store(state as u32, Ordering::Relaxed);
        for (count, grade) in [
            (&self.intermittent_failures, Grade::Intermittent),
            (&self.permanent_failures, Grade::Permanent),
        ] {
            let failures = outcome.findings.of_grade(grade);
            count.fetch_add(u64::from(failures), Ordering::Relaxed);
        }
    }
}

impl Row {
    pub(super) fn new(source: Arc<dyn Source>) -> Self {
        Self {
            source,
            counts: Counts::default(),
        }
    }

    /// Whether anyone may draw on it.
    pub(super) fn is_fast(&self) -> bool {
        self.source.speed() == Speed::Fast
    }

    /// Draws once, without a lock: writes raw noise to `destination` and says how much; `None` if it failed.
    ///
    /// What it wrote goes to [`Shared::admit`]. Between the two a slow source may take its time while nobody
    /// waits for the pools.
    pub(super) fn sample(&self, destination: &mut [u8]) -> Option<usize> {
        let counts = &self.counts;
        if counts.state() == SourceHealth::Disabled && !counts.restart.load(Ordering::Relaxed) {
            return None;
        }
        match self.source.sample(destination) {
            Ok(length) => {
                counts.last_error.store(0, Ordering::Relaxed);
                Some(length.min(destination.len()))
            }
            Err(error) => {
                counts.errors.fetch_add(1, Ordering::Relaxed);
                counts.last_error.store(encode(error), Ordering::Relaxed);
                None
            }
        }
    }

    /// Starts a source again that is quarantined or out.
    pub(super) fn restart(&self) {
        self.counts.restart.store(true, Ordering::Relaxed);
    }
}

/// The owner's side of a source: 64 bytes.
#[derive(Default)]
pub(super) struct RowState {
    health: Health,
    /// The pool of the next event: a round robin of its own for each source, so that no source can choose
    /// the pools of another (FS&K 9.5.6).
    destination: usize,
    /// What was claimed and not yet credited, below a bit: an event of a byte may be worth less.
    credit_256ths: u32,
}

impl RowState {
    /// The whole bits that the next `bytes` are credited.
    fn credit(&mut self, claim_256ths: u16, bytes: usize) -> u32 {
        let claimed = self.credit_256ths + u32::from(claim_256ths) * bytes as u32;
        self.credit_256ths = claimed % 256;
        claimed / 256
    }
}

impl Shared {
    /// Draws on a source: its sample through its health tests, in events, to this CPU's queue.
    ///
    /// Once; but a seeding goes on until the start-up of the source is over and a sample was used.
    pub(super) fn draw_on(&self, row: &Row, state: &mut RowState, bytes: usize) {
        let draws = match bytes < SEEDING_SAMPLE_BYTES {
            true => 1,
            false => START_UP_DRAWS,
        };
        let mut sample = [0; SEEDING_SAMPLE_BYTES];
        for _ in 0..draws {
            let Some(length) = row.sample(&mut sample[..bytes]) else {
                return;
            };
            if self.admit(row, state, &mut sample[..length]) || length == 0 {
                return;
            }
        }
    }

    /// Takes a sample through the health tests of its row, and in events to this CPU's queue; wipes it. Says
    /// whether it was used.
    pub(super) fn admit(&self, row: &Row, state: &mut RowState, sample: &mut [u8]) -> bool {
        let counts = &row.counts;
        if counts.restart.swap(false, Ordering::Relaxed) {
            state.health.restart();
        }
        let (claim, symbol) = (row.source.min_entropy(), row.source.symbol());
        let whole = sample.len() - sample.len() % symbol.bytes();
        let outcome = state.health.judge(claim, symbol, &sample[..whole]);
        counts.note(&outcome, state.health.state());
        let claim_256ths = match outcome.action {
            Action::Credit => claim.as_256ths(),
            Action::Mix | Action::Discard => 0,
        };
        let used = outcome.action != Action::Discard;
        if used {
            for data in sample[..whole].chunks(Event::MAX_BYTES) {
                let bits = state.credit(claim_256ths, data.len());
                let event = Event::new(cpu::cycles() as u32, state.destination, data, bits);
                state.destination = state.destination.wrapping_add(1);
                if self.push(&event) {
                    counts.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
                    counts
                        .credited_bits
                        .fetch_add(u64::from(event.credit_bits()), Ordering::Relaxed);
                }
            }
        } else {
            counts
                .discarded_bytes
                .fetch_add(whole as u64, Ordering::Relaxed);
        }
        sample.zeroize();
        used
    }

    pub(super) fn restart_source(&self, name: &str) -> bool {
        let row = self.sources.iter().find(|row| row.source.name() == name);
        row.inspect(|row| row.restart()).is_some()
    }

    pub(super) fn push(&self, event: &Event) -> bool {
        self.queues[system::current_cpu() % self.queues.len()].push(event)
    }
}

/// A [`SourceError`] as a number that is not 0.
fn encode(error: SourceError) -> u32 {
    match error {
        SourceError::Absent => 1,
        SourceError::Busy => 2,
        SourceError::SelfTest => 3,
        SourceError::Ended => 4,
        SourceError::System(errno) => 5 + errno.unsigned_abs(),
        _ => 2,
    }
}

/// The error that [`encode`] made a number of.
pub(super) fn decode(number: u32) -> Option<SourceError> {
    match number {
        0 => None,
        1 => Some(SourceError::Absent),
        2 => Some(SourceError::Busy),
        3 => Some(SourceError::SelfTest),
        4 => Some(SourceError::Ended),
        errno => Some(SourceError::System((errno - 5) as i32)),
    }
}
