//! What can be said of an engine without a secret.

use super::{HarvesterStats, Shared, rows};
use crate::Mode;
use crate::seed_file::{Keeper, SeedFileStats};
use core::fmt;
use core::sync::atomic::Ordering;
use wellspring_core::Backend;
use wellspring_core::health::SourceHealth;
use wellspring_core::source::{MinEntropy, SourceError};
use wellspring_sys::memory::unlocked_bytes;
use wellspring_sys::signals::Blocked;

/// How far an engine is seeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not at all: a read waits, a try says [`Error::NotSeeded`](crate::Error::NotSeeded).
    Empty,
    /// With less than 128 credited bits: node 0 serves every reader.
    Early,
    /// With 128 credited bits or more: every node serves its own.
    Ready,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Empty => "empty",
            Phase::Early => "early",
            Phase::Ready => "ready",
        })
    }
}

impl Shared {
    pub(super) fn phase(&self) -> Phase {
        match self.pools.phase.load(Ordering::Acquire) {
            0 => Phase::Empty,
            1 => Phase::Early,
            _ => Phase::Ready,
        }
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.pools.phase.store(phase as u32, Ordering::Release);
    }

    pub(super) fn stats(&self) -> Stats {
        let signals = Blocked::new();
        let nodes = self.nodes.iter().map(|memory| NodeStats {
            credit_bits: memory.inlet.credit_bits(),
            reseeds: memory.node.lock(&signals).reseeds(),
            fetches: memory.fetches.load(Ordering::Relaxed),
        });
        let sources = self.sources.iter().map(|row| SourceStats {
            name: row.source.name(),
            claim: row.source.min_entropy(),
            bytes: row.counts.bytes.load(Ordering::Relaxed),
            credited_bits: row.counts.credited_bits.load(Ordering::Relaxed),
            errors: row.counts.errors.load(Ordering::Relaxed),
            last_error: rows::decode(row.counts.last_error.load(Ordering::Relaxed)),
            discarded_bytes: row.counts.discarded_bytes.load(Ordering::Relaxed),
            health: row.counts.state(),
            intermittent_failures: row.counts.intermittent_failures.load(Ordering::Relaxed),
            permanent_failures: row.counts.permanent_failures.load(Ordering::Relaxed),
        });
        Stats {
            mode: self.mode,
            backend: self.backend,
            phase: self.phase(),
            generation: self.generation.current(),
            thread_taps: self.nest.count(),
            nodes: nodes.collect(),
            sources: sources.collect(),
            harvester: self.harvester_stats(),
            events_dropped: self.queues.iter().map(|queue| queue.dropped()).sum(),
            unlocked_bytes: unlocked_bytes(),
            seed_file: self.seed_file.as_ref().map(Keeper::stats),
        }
    }
}

/// What can be said of an engine without a secret. A snapshot; the numbers are not of one instant.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// The read mode.
    pub mode: Mode,
    /// The implementation of the pseudo-random function.
    pub backend: Backend,
    /// How far the engine is seeded.
    pub phase: Phase,
    /// The generation.
    pub generation: u64,
    /// The taps in use: one for each thread that has read, one for each [`LocalRng`](crate::LocalRng).
    pub thread_taps: usize,
    /// The nodes, by number.
    pub nodes: Vec<NodeStats>,
    /// The sources, in the order given.
    pub sources: Vec<SourceStats>,
    /// The harvester, if this process has one at work on this engine.
    pub harvester: Option<HarvesterStats>,
    /// The events that the harvest queues gave up because they were full or busy.
    pub events_dropped: u64,
    /// The bytes of secret memory, of all engines of this process, that the system refused to lock.
    pub unlocked_bytes: u64,
    /// What became of the seed file, if the engine has one.
    pub seed_file: Option<SeedFileStats>,
}

/// A node's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStats {
    /// What is left of the credit of its seeds, in bits; decides whose turn the next seed is.
    pub credit_bits: u32,
    /// The seeds it has taken.
    pub reseeds: u64,
    /// How often its lock was taken to read: key fetches, or reads in the modes without taps (in
    /// `Canonical`, chunks).
    pub fetches: u64,
}

/// A source's numbers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceStats {
    /// Its name.
    pub name: &'static str,
    /// What it claims.
    pub claim: MinEntropy,
    /// The bytes of noise it has given to the pools.
    pub bytes: u64,
    /// What they were credited, in bits.
    pub credited_bits: u64,
    /// How often it failed.
    pub errors: u64,
    /// Why the last draw failed, if it did.
    pub last_error: Option<SourceError>,
    /// The bytes that were tested and thrown away: of start-ups, and of failures.
    pub discarded_bytes: u64,
    /// Where its health tests have put it.
    pub health: SourceHealth,
    /// How often a health test failed that a sound source fails once in 2^30 samples.
    pub intermittent_failures: u64,
    /// How often one failed that a sound source fails once in 2^60.
    pub permanent_failures: u64,
}
