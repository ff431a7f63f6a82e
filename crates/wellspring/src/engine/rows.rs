//! A source in an engine: its health, its turn at the pools, and what became of its samples.

use super::Shared;
use super::harvest::SEEDING_SAMPLE_BYTES;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;
use wellspring_core::harvest::Event;
use wellspring_core::health::RepetitionCount;
use wellspring_core::source::{Source, SourceError, Speed};
use wellspring_sys::{cpu, system};
use zeroize::Zeroize;

/// A source and what became of its samples.
pub(super) struct Row {
    pub(super) source: Arc<dyn Source>,
    pub(super) counts: Counts,
}

/// In ordinary memory, so that a child process goes on counting.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) bytes: AtomicU64,
    pub(super) credited_bits: AtomicU64,
    pub(super) errors: AtomicU64,
    /// Why the last draw yielded nothing: 0 if it did, else a [`SourceError`], see [`encode`].
    pub(super) last_error: AtomicU32,
    pub(super) quarantined: AtomicBool,
}

impl Row {
    pub(super) fn new(source: Arc<dyn Source>) -> Self {
        Self {
            source,
            counts: Counts::default(),
        }
    }
}

/// The owner's side of a source.
#[derive(Default)]
pub(super) struct RowState {
    health: Option<RepetitionCount>,
    /// The pool of the next event: a round robin of its own for each source, so that no source can choose
    /// the pools of another (FS&K 9.5.6).
    destination: usize,
}

impl Row {
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
        if counts.quarantined.load(Ordering::Relaxed) {
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
}

impl Shared {
    /// Draws once on a source: its sample through its health test, in events, to this CPU's queue.
    pub(super) fn draw_on(&self, row: &Row, state: &mut RowState, bytes: usize) {
        let mut sample = [0; SEEDING_SAMPLE_BYTES];
        if let Some(length) = row.sample(&mut sample[..bytes]) {
            self.admit(row, state, &mut sample[..length]);
        }
    }

    /// Takes a sample through the health test of its row, and in events to this CPU's queue; wipes it.
    pub(super) fn admit(&self, row: &Row, state: &mut RowState, sample: &mut [u8]) {
        let counts = &row.counts;
        let claim = row.source.min_entropy();
        let health = state
            .health
            .get_or_insert_with(|| RepetitionCount::new(claim));
        if !health.passes(sample) {
            counts.quarantined.store(true, Ordering::Relaxed);
        } else {
            for data in sample.chunks(Event::MAX_BYTES) {
                let bits = claim.bits(data.len());
                let event = Event::new(cpu::cycles() as u32, state.destination, data, bits);
                state.destination = state.destination.wrapping_add(1);
                if self.push(&event) {
                    counts.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
                    counts
                        .credited_bits
                        .fetch_add(u64::from(bits), Ordering::Relaxed);
                }
            }
        }
        sample.zeroize();
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
        SourceError::System(errno) => 4 + errno.unsigned_abs(),
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
        errno => Some(SourceError::System((errno - 4) as i32)),
    }
}
