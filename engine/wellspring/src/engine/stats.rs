//! Statistics of an engine, without a secret.

use super::harvester_status::HarvesterStats;
use super::phase::Phase;
use crate::clone_detection::CloneDetectionStats;
use crate::mode::Mode;
use crate::seed_file::SeedFileStats;
use wellspring_core::Backend;
use wellspring_core::health::SourceHealth;
use wellspring_core::source::{MinEntropy, SourceError};

/// Statistics of an engine. They contain no secret. The numbers are read one after another, not at one instant.
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
    pub taps: usize,
    /// The nodes, by number.
    pub nodes: Vec<NodeStats>,
    /// The 32 pools, by number. All nodes are seeded from them.
    pub pools: Vec<PoolStats>,
    /// The sources, in the order given.
    pub sources: Vec<SourceStats>,
    /// The harvester, if this process runs one for this engine.
    pub harvester: Option<HarvesterStats>,
    /// Which signs of a copy the engine watches.
    pub clone_detection: CloneDetectionStats,
    /// The events of sources that were dropped. Slow sources only: the lock of the pools was taken for a second.
    pub events_dropped: u64,
    /// The calls of [`Engine::mix`](crate::Engine::mix) whose data was dropped, because 64 of them waited for the pools or
    /// another thread was in the middle of one.
    pub mixes_dropped: u64,
    /// The bytes of secret memory, of all engines of this process, that the system refused to lock.
    pub unlocked_bytes: u64,
    /// The seed file, if the engine has one.
    pub seed_file: Option<SeedFileStats>,
}

/// Sums of the [`Stats`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Totals {
    /// How far the engine is seeded.
    pub phase: Phase,
    /// The generation.
    pub generation: u64,
    /// The taps in use.
    pub taps: usize,
    /// The number of nodes.
    pub nodes: usize,
    /// How often readers took the lock of a node.
    pub fetches: u64,
    /// The number of sources.
    pub sources: usize,
    /// The number of sources that pass their tests.
    pub active_sources: usize,
    /// The bytes of noise that reached the pools.
    pub bytes: u64,
    /// Their credit, in bits.
    pub credited_bits: u64,
    /// The events of sources that were dropped.
    pub events_dropped: u64,
    /// The bytes of secret memory, of all engines of this process, that the system refused to lock.
    pub unlocked_bytes: u64,
}

/// The numbers of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStats {
    /// The credit left of its seeds, in bits. Below 768 the node gets seeds out of its turn too.
    pub credit_bits: u32,
    /// How often it was reseeded: by the seeds that it took, by each order to reseed, and by each notice of a copy. Node 0
    /// takes the seed of an order as well, so an order counts twice there.
    pub reseeds: u64,
    /// How often a reader took its lock: key fetches, or reads in the modes without taps (in `Canonical`, chunks).
    pub fetches: u64,
}

/// The noise that a pool has gathered since it was last used. Reseed number r uses pool i if 2^i divides r.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// The bytes of its events, 4 bytes of header for each included. Data of [`Engine::mix`](crate::Engine::mix) is in the
    /// pool and is not counted.
    pub bytes: u32,
    /// Their credit in bits, at most 256.
    pub credit_bits: u32,
}

/// The numbers of a source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceStats {
    /// Its name.
    pub name: &'static str,
    /// The min-entropy that it claims.
    pub claim: MinEntropy,
    /// The bytes of noise that reached the pools.
    pub bytes: u64,
    /// Their credit, in bits.
    pub credited_bits: u64,
    /// How often a draw failed.
    pub errors: u64,
    /// The reason why the last draw failed, if it did.
    pub last_error: Option<SourceError>,
    /// The draws in a row, up to the last, that yielded nothing: they failed, or returned no byte.
    pub empty_draws: u64,
    /// The time since the draw began that has not ended yet, in milliseconds; 0 if there is none.
    pub drawing_for_ms: u64,
    /// The bytes that were tested and thrown away: during start-ups, and after failures.
    pub discarded_bytes: u64,
    /// The state that its health tests put it in.
    pub health: SourceHealth,
    /// Failures of a health test that a sound source shows once in 2^30 samples.
    pub intermittent_failures: u64,
    /// Failures that a sound source shows once in 2^60 samples.
    pub permanent_failures: u64,
}
