//! The engine itself: its parts, all work that needs more than one of them, and its statistics.
//!
//! ```text
//! keys    nodes; else collector -> nodes
//! noise   collector -> inlets of the nodes -> generation
//! copies  clones -> every node -> generation -> clones
//! ```

use super::collector::{Collector, Due, HarvestStep, HarvestedStep};
use super::nodes::{NodeStats, Nodes, OwnedTap, Phase, Taps};
use super::samples::{PoolStats, SourceStats};
use crate::clone_detection::{CloneDetectionStats, CloneDetector};
use crate::error::Error;
use crate::fresh_entropy::FreshEntropy;
use crate::seed_file::{SeedFileError, SeedFileStats, SeedStore};
use core::fmt;
use core::str::FromStr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;
use wellspring_core::generator::Reservation;
use wellspring_core::health::SourceHealth;
use wellspring_core::seed_file::FULL_CREDIT_BITS;
use wellspring_core::{Backend, KEY_BYTES, self_test};
use wellspring_os::memory::{Wiped, Zeroed};
use wellspring_os::signals::SignalsBlocked;
use wellspring_os::thread_state::unlocked_bytes;
use wellspring_os::{memory, os, vdso};
use zeroize::Zeroizing;

/// Shared by the clones of an engine, its harvester and its [`LocalRng`](crate::LocalRng)s.
pub(crate) struct EngineInner {
    pub(super) mode: Mode,
    pub(super) taps: Taps,
    pub(super) nodes: Nodes,
    pub(super) collector: Collector,
    pub(super) clones: CloneDetector,
    pub(super) harvester: OnceLock<Wiped<HarvesterStatus>>,
    pub(super) seed_file: Option<EngineSeedFile>,
}

/// The seed file of an engine.
pub(super) struct EngineSeedFile {
    pub(super) store: Box<SeedStore>,
    /// Writes the file. By a pointer, so that programs without a seed file are linked without this.
    pub(super) write: fn(&EngineInner, &EngineSeedFile) -> Result<(), SeedFileError>,
    /// The generation of the engine at its last save; 0 before the first.
    pub(super) saved_generation: AtomicU64,
    /// Whether a self-test failed: the file keeps what was saved before.
    pub(super) is_stopped: AtomicBool,
}

impl EngineInner {
    /// A tap that belongs to its holder.
    pub(crate) fn new_owned_tap(&self) -> OwnedTap {
        OwnedTap::new(&self.taps.threads)
    }

    /// Makes keys of a node, while signals are blocked: no handler can fork in between.
    #[inline(never)]
    pub(super) fn fetch_keys_of(
        &self,
        node: usize,
        keys: &mut [u8],
        signals: &SignalsBlocked,
    ) -> Result<(), Error> {
        let mut reservation = Reservation::ZERO;
        self.reserve(node, Phase::Ready, keys.len(), signals, &mut reservation)?;
        reservation.generate(self.nodes.backend(), keys);
        Ok(())
    }

    /// Sets output of a node aside. The engine seeds itself before, if it has not reached the phase `need`. Returns the fork
    /// stamp, see [`Nodes::reserve`](super::nodes::Nodes::reserve).
    #[inline]
    pub(super) fn reserve(
        &self,
        node: usize,
        need: Phase,
        bytes: usize,
        signals: &SignalsBlocked,
        reservation: &mut Reservation,
    ) -> Result<u64, Error> {
        loop {
            let reserved = self.nodes.reserve(node, need, bytes, signals, reservation);
            match reserved {
                Some(stamp) => return Ok(stamp),
                None => self.seed(need, signals)?,
            }
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn seed(&self, need: Phase, signals: &SignalsBlocked) -> Result<(), Error> {
        let seeded = self.collector.seed(need, &self.nodes, &self.taps, signals);
        memory::erase_below();
        seeded
    }

    /// Reseeds every node with data that is different in each copy and with `nonce`, then moves every tap to a fresh key.
    /// Returns the new generation.
    ///
    /// A new generation alone is not enough: a copy has the same nodes and would draw the same keys from them.
    pub(super) fn diverge(&self, nonce: &[u8]) -> u64 {
        vdso::forget_if_changed();
        match SignalsBlocked::try_first() {
            Some(signals) => self.diverge_blocked(nonce, &signals),
            // In a handler of a process without system calls. The interrupted code may hold the lock of a node.
            None => self.taps.announce(),
        }
    }

    #[inline(never)]
    fn diverge_blocked(&self, nonce: &[u8], signals: &SignalsBlocked) -> u64 {
        let mut entropy = FreshEntropy::EMPTY;
        entropy.gather();
        let entropy = entropy.add(nonce);
        self.nodes.stir_all(entropy, signals);
        self.collector.mix(entropy);
        let generation = self.taps.announce();
        memory::erase_below();
        generation
    }

    /// Looks for signs of a copy, and once a minute for pages that were not there before. Diverges on a sign.
    pub(super) fn look_for_clones(&self, now_ms: u64, clock_went_back: bool) {
        if self.clones.look(now_ms) || clock_went_back {
            self.diverge(&[]);
        }
        self.handle_clones();
    }

    /// Draws on all fast sources and reseeds every node, then moves every tap to a fresh key. Returns the new generation.
    /// If the fast sources yield too little, the generation moves, too: taps then take fresh keys from the present nodes.
    pub(super) fn reseed(&self) -> Result<u64, Error> {
        let reseeded = self.collector.reseed(&self.nodes);
        let generation = self.taps.announce();
        memory::erase_below();
        reseeded.map(|()| generation)
    }

    pub(super) fn save_seed(&self) -> Result<(), SeedFileError> {
        let seed_file = self.seed_file.as_ref().ok_or(SeedFileError::Absent)?;
        if seed_file.is_stopped.load(Ordering::Relaxed) {
            return Err(SeedFileError::SelfTest);
        }
        (seed_file.write)(self, seed_file)
    }

    /// A failure stops the seed file: a wrong generator may write a seed that an attacker knows, and a later boot credits it.
    pub(super) fn self_test(&self) -> Result<(), Error> {
        let tested = self_test::run(self.nodes.backend());
        if let (Err(_), Some(seed_file)) = (tested, &self.seed_file) {
            seed_file.is_stopped.store(true, Ordering::Relaxed);
        }
        tested.map_err(Error::SelfTest)
    }

    /// Writes the seed file from a fresh secret of every node.
    pub(super) fn write_seed_file(&self, seed_file: &EngineSeedFile) -> Result<(), SeedFileError> {
        if self.nodes.phase() != Phase::Ready {
            // The present file may have more credit.
            return Err(SeedFileError::NotSeeded);
        }
        // Loaded first: a reseed during the save is not a part of it.
        let generation = self.taps.generation();
        let mut secrets = Zeroizing::new(vec![[0; KEY_BYTES]; self.nodes.in_use()]);
        for (number, secret) in secrets.iter_mut().enumerate() {
            let signals = SignalsBlocked::new();
            let fetched = self.fetch_keys_of(number, secret, &signals);
            fetched.map_err(|_| SeedFileError::NotSeeded)?;
        }
        let saved = seed_file.store.save(&secrets, FULL_CREDIT_BITS);
        memory::erase_below();
        if saved.is_ok() {
            let saved_generation = &seed_file.saved_generation;
            saved_generation.store(generation, Ordering::Relaxed);
        }
        saved
    }

    pub(super) fn stats(&self) -> Stats {
        let now_ms = os::now_ms();
        Stats {
            mode: self.mode,
            backend: self.nodes.backend(),
            phase: self.nodes.phase(),
            generation: self.taps.generation(),
            taps: self.taps.threads.count(),
            nodes: self.nodes.stats(),
            pools: self.collector.pool_meters.stats(),
            sources: self.collector.stats(now_ms),
            harvester: self.harvester.get().and_then(|status| status.stats(now_ms)),
            clone_detection: self.clones.stats(),
            events_dropped: self.collector.dropped_events.load(Ordering::Relaxed),
            mixes_dropped: self.collector.memory.mixed.dropped(),
            unlocked_bytes: unlocked_bytes() as u64,
            seed_file: self.seed_file.as_ref().map(|file| file.store.stats()),
        }
    }

    pub(super) fn totals(&self) -> Totals {
        let now_ms = os::now_ms();
        let sources = || {
            self.collector
                .sources
                .iter()
                .map(|source| source.stats(now_ms))
        };
        let active = sources().filter(|source| source.health == SourceHealth::Active);
        Totals {
            phase: self.nodes.phase(),
            generation: self.taps.generation(),
            taps: self.taps.threads.count(),
            nodes: self.nodes.count(),
            fetches: self.nodes.fetches(),
            sources: self.collector.sources.len(),
            active_sources: active.count(),
            bytes: sources().map(|source| source.bytes).sum(),
            credited_bits: sources().map(|source| source.credited_bits).sum(),
            events_dropped: self.collector.dropped_events.load(Ordering::Relaxed),
            unlocked_bytes: unlocked_bytes() as u64,
        }
    }

    /// Diverges if a watched word changed. Returns the sum of the words that is handled now.
    #[inline(always)]
    pub(super) fn handle_clones(&self) -> u64 {
        let words = &self.clones.words;
        let sum = words.sum();
        if sum != words.handled() {
            // Several threads may diverge at the same time. That costs a few reseeds more, and needs no lock.
            self.diverge(&[]);
            words.set_handled(sum);
        }
        sum
    }

    /// Makes the step of a harvest that is due, or leaves it to the next read. `was_current`: the last read made its tap
    /// current. If so, a read off the hot path fetches a key or fills a buffer.
    #[inline]
    pub(super) fn harvest_if_due(&self, was_current: bool) -> HarvestedStep {
        match self.collector.inline_harvest_due() {
            Some(due) => self.harvest_or_leave(due, was_current),
            None => HarvestedStep::None,
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn harvest_or_leave(&self, due: Due, was_current: bool) -> HarvestedStep {
        if was_current && self.collector.may_leave_step(due) {
            return HarvestedStep::LeftToNextRead;
        }
        let Some(step) = self.collector.take_step(due) else {
            return HarvestedStep::None;
        };
        if matches!(step, HarvestStep::Look | HarvestStep::Whole) {
            self.look_for_clones(due.now_ms, due.clock_went_back);
        }
        // A look needs no lock, so signals need not be blocked for it, which takes two system calls.
        if step != HarvestStep::Look
            && let Some(signals) = SignalsBlocked::try_first()
        {
            self.collector
                .harvest_step(step, due.now_ms, &self.nodes, &self.taps, &signals);
            memory::erase_below();
        }
        HarvestedStep::Made
    }
}

impl Drop for EngineInner {
    /// Writes the seed file, unless this is a child process, or the engine has not reseeded since it wrote the file.
    fn drop(&mut self) {
        let is_wanted = |file: &EngineSeedFile| {
            let saved_generation = file.saved_generation.load(Ordering::Relaxed);
            file.store.is_ours() && saved_generation != self.taps.generation()
        };
        if self.seed_file.as_ref().is_some_and(is_wanted) {
            // `drop` cannot return an error. If the save fails, the old file stays and is still unused.
            let _ = self.save_seed();
        }
    }
}

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

// The statistics of a harvester, which its thread writes.

const ABSENT: u32 = 0;
const ALIVE: u32 = 1;
const ENDED: u32 = 2;

/// Wiped on fork, as the thread is.
#[repr(C)]
pub(super) struct HarvesterStatus {
    state: AtomicU32,
    _reserved: u32,
    rounds: AtomicU64,
    events: AtomicU64,
    cpu_time_us: AtomicU64,
    last_round_ms: AtomicU64,
    /// From this time on the thread is late.
    late_from_ms: AtomicU64,
}

impl Zeroed for HarvesterStatus {
    const ZERO: Self = Self {
        state: AtomicU32::new(ABSENT),
        _reserved: 0,
        rounds: AtomicU64::new(0),
        events: AtomicU64::new(0),
        cpu_time_us: AtomicU64::new(0),
        last_round_ms: AtomicU64::new(0),
        late_from_ms: AtomicU64::new(0),
    };
}

/// Statistics of a harvester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HarvesterStats {
    /// Whether it keeps its pace. If not (it panicked, or a source or a disk keeps it waiting), readers harvest inline.
    pub alive: bool,
    /// How often it looked for mixed data and at sources.
    pub rounds: u64,
    /// The events it moved to the pools: from fast sources, and of mixed data.
    pub events: u64,
    /// The time it has spent on a CPU, in microseconds.
    pub cpu_time_us: u64,
    /// The time since its last round ended, or since its start, in milliseconds.
    pub last_round_ms_ago: u64,
}

impl HarvesterStatus {
    /// Marks the thread as alive; `false` if it was.
    pub(super) fn begin(&self, now_ms: u64) -> bool {
        self.last_round_ms.store(now_ms, Ordering::Relaxed);
        self.state.swap(ALIVE, Ordering::AcqRel) != ALIVE
    }

    pub(super) fn end(&self) {
        self.state.store(ENDED, Ordering::Release);
        self.late_from_ms.store(0, Ordering::Relaxed);
    }

    /// Whether this process has no such thread and never had: it is a child of the process that started it.
    pub(super) fn is_absent(&self) -> bool {
        self.state.load(Ordering::Acquire) == ABSENT
    }

    pub(super) fn count_round(&self, events: u64) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
    }

    pub(super) fn report(&self, now_ms: u64, cpu_time_us: u64, late_from_ms: u64) {
        self.cpu_time_us.store(cpu_time_us, Ordering::Relaxed);
        self.last_round_ms.store(now_ms, Ordering::Relaxed);
        self.late_from_ms.store(late_from_ms, Ordering::Relaxed);
    }

    /// `None` if this process has no harvester.
    pub(super) fn stats(&self, now_ms: u64) -> Option<HarvesterStats> {
        let state = self.state.load(Ordering::Relaxed);
        let is_in_time = now_ms < self.late_from_ms.load(Ordering::Relaxed);
        (state != ABSENT).then(|| HarvesterStats {
            alive: state == ALIVE && is_in_time,
            rounds: self.rounds.load(Ordering::Relaxed),
            events: self.events.load(Ordering::Relaxed),
            cpu_time_us: self.cpu_time_us.load(Ordering::Relaxed),
            last_round_ms_ago: now_ms.saturating_sub(self.last_round_ms.load(Ordering::Relaxed)),
        })
    }
}

// The four read modes.

/// The way in which an engine serves reads.
///
/// No lock is held while the output of a read is made, except in `Canonical`, for at most 4096 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// The root's lock is held while bytes are made, up to 4096 at a time, with a new key after each chunk:
    /// FS&K, and FreeBSD's random(4) with `concurrent_read=0`.
    Canonical,
    /// Under the root's lock the output is only reserved (copy K and C, step C, new K), and then made without the lock:
    /// random(4) with `concurrent_read=1`.
    Concurrent,
    /// Like `Concurrent`, on the generator of the reader's own NUMA node: Linux's per-node pools.
    PerNode,
    /// From the thread's tap. A node's lock is taken only to fetch a new tap key.
    #[default]
    PerThread,
}

impl Mode {
    /// All modes, from the slowest to the fastest.
    pub const ALL: [Mode; 4] = [
        Mode::Canonical,
        Mode::Concurrent,
        Mode::PerNode,
        Mode::PerThread,
    ];

    /// The name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Canonical => "canonical",
            Mode::Concurrent => "concurrent",
            Mode::PerNode => "per-node",
            Mode::PerThread => "per-thread",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMode;

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected canonical, concurrent, per-node or per-thread")
    }
}

impl core::error::Error for UnknownMode {}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |mode: &Mode| mode.name() == text;
        Mode::ALL.into_iter().find(named).ok_or(UnknownMode)
    }
}
