//! The lazy harvest: sources -> health -> queues -> pools -> mailboxes.
//!
//! There is no thread. Whoever is on a slow path when 100 ms have passed since the last harvest tries the
//! pools' lock; who gets it draws once on each source, and the others go on.

use super::builder::MAX_SOURCES;
use super::{Phase, Shared};
use crate::Error;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use wellspring_core::harvest::Event;
use wellspring_core::health::RepetitionCount;
use wellspring_core::node::{Harvest, Pace};
use wellspring_core::pool::RESEED_INTERVAL_MS;
use wellspring_core::source::{Source, SourceError};
use wellspring_sys::{cpu, system};
use zeroize::Zeroize;

/// What a source is asked for at a time: 8 events, a quarter round of the pools.
const SAMPLE_BYTES: usize = 256;

/// The draws after which pool 0 has its 64 bytes, from one source that yields all it is asked for: events 0
/// and 32 go there. Twice that is enough for a source that yields half.
const FIRST_DRAWS: usize = 10;

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

/// What the owner of the pools has. Behind their lock.
#[derive(Default)]
pub(super) struct HarvestState {
    pub(super) harvest: Harvest,
    rows: [RowState; MAX_SOURCES],
}

/// The owner's side of a source.
#[derive(Default)]
struct RowState {
    health: Option<RepetitionCount>,
    /// The pool of the next event: a round robin of its own for each source, so that no source can choose
    /// the pools of another (FS&K 9.5.6).
    destination: usize,
}

impl Shared {
    /// Harvests, if it is time and nobody else is at it.
    #[inline]
    pub(super) fn freshen(&self) {
        let now_ms = system::now_ms();
        let last_ms = self.pools.harvested_ms.load(Ordering::Relaxed);
        if now_ms.saturating_sub(last_ms) >= RESEED_INTERVAL_MS {
            self.freshen_now(now_ms);
        }
    }

    #[cold]
    fn freshen_now(&self, now_ms: u64) {
        if let Some(mut state) = self.pools.harvest.try_lock() {
            self.draw(&mut state, now_ms);
            self.deliver(&mut state, now_ms, Pace::Fortuna);
        }
    }

    /// Seeds an engine that is not seeded, as far as its sources go.
    #[cold]
    pub(super) fn seed(&self) -> Result<(), Error> {
        let mut state = self.pools.harvest.lock();
        for _ in 0..FIRST_DRAWS {
            self.receive_root();
            if self.phase() != Phase::Empty {
                return Ok(());
            }
            let now_ms = system::now_ms();
            self.draw(&mut state, now_ms);
            self.deliver(&mut state, now_ms, Pace::Fortuna);
        }
        Err(Error::NotSeeded)
    }

    pub(super) fn reseed(&self) -> Result<u64, Error> {
        let mut state = self.pools.harvest.lock();
        let mut delivered = false;
        for _ in 0..FIRST_DRAWS {
            self.receive_root();
            let now_ms = system::now_ms();
            self.draw(&mut state, now_ms);
            delivered = self.deliver(&mut state, now_ms, Pace::Ordered);
            if delivered {
                break;
            }
        }
        match delivered {
            true => Ok(self.generation.current()),
            false => {
                self.generation.bump();
                Err(Error::NotSeeded)
            }
        }
    }

    pub(super) fn mix(&self, data: &[u8]) {
        let cycles = cpu::cycles();
        let destination = cycles as usize;
        let event = match data.len() {
            ..=Event::MAX_BYTES => Event::new(cycles as u32, destination, data, 0),
            _ => Event::new(cycles as u32, destination, &Sha256::digest(data), 0),
        };
        self.push(&event);
    }

    /// Draws once on every source, and moves what all queues hold to the pools.
    fn draw(&self, state: &mut HarvestState, now_ms: u64) {
        self.pools
            .harvested_ms
            .store(now_ms.max(1), Ordering::Relaxed);
        for (row, row_state) in self.sources.iter().zip(&mut state.rows) {
            self.draw_on(row, row_state);
            // Between sources, so that no queue of 64 events overflows by our own doing.
            self.drain(&mut state.harvest);
        }
    }

    fn draw_on(&self, row: &Row, state: &mut RowState) {
        let counts = &row.counts;
        if counts.quarantined.load(Ordering::Relaxed) {
            return;
        }
        let mut sample = [0; SAMPLE_BYTES];
        let length = match row.source.sample(&mut sample) {
            Ok(length) => length.min(SAMPLE_BYTES),
            Err(error) => {
                counts.errors.fetch_add(1, Ordering::Relaxed);
                counts.last_error.store(encode(error), Ordering::Relaxed);
                return;
            }
        };
        counts.last_error.store(0, Ordering::Relaxed);
        let claim = row.source.min_entropy();
        let health = state
            .health
            .get_or_insert_with(|| RepetitionCount::new(claim));
        if !health.passes(&sample[..length]) {
            counts.quarantined.store(true, Ordering::Relaxed);
        } else {
            for data in sample[..length].chunks(Event::MAX_BYTES) {
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

    fn push(&self, event: &Event) -> bool {
        self.queues[system::current_cpu() % self.queues.len()].push(event)
    }

    fn drain(&self, harvest: &mut Harvest) {
        for queue in &self.queues {
            while let Some(event) = queue.pop() {
                harvest.absorb(&event);
            }
        }
    }

    /// Reseeds if it is due, and tells the taps.
    fn deliver(&self, state: &mut HarvestState, now_ms: u64, pace: Pace) -> bool {
        let nodes = match self.phase() {
            Phase::Ready => self.nodes.len(),
            Phase::Empty | Phase::Early => 1,
        };
        let inlet = |number: usize| &self.nodes[number].inlet;
        let delivered = state.harvest.deliver(now_ms, pace, nodes, inlet);
        if delivered {
            self.generation.bump();
        }
        delivered
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
