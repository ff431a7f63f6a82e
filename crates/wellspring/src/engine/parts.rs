//! The engine itself: its parts, and all work that needs more than one of them.
//!
//! ```text
//! read    take -> taps;  else read -> (harvest inline) -> taps -> modes -> nodes
//! noise   collector -> inlets of the nodes -> generation
//! copies  clones -> every node -> generation -> clones
//! ```

use super::collector::{Collector, SeedTarget};
use super::harvester::HarvesterStatus;
use super::inherited;
use super::modes;
use super::nodes::Nodes;
use super::phase::Phase;
use super::stats::Stats;
use super::taps::{OwnedTap, Taps};
use crate::clone_detection::CloneDetector;
use crate::error::Error;
use crate::fresh_entropy::FreshEntropy;
use crate::mode::Mode;
use crate::seed_file::{SeedFileError, SeedStore};
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;
use wellspring_core::KEY_BYTES;
use wellspring_core::generator::Reservation;
use wellspring_core::seed_file::FULL_CREDIT_BITS;
use wellspring_os::inheritance::SECRET_BYTES;
use wellspring_os::locked_memory::unlocked_bytes;
use wellspring_os::memory::Wiped;
use wellspring_os::os;
use wellspring_os::sandbox;
use wellspring_os::signals::Blocked;
use wellspring_os::stack;
use wellspring_os::thread_state::{CurrentThread, Miss};
use wellspring_pseudo::Xoshiro256PlusPlus;
use zeroize::Zeroizing;

/// A read is repeated if the machine was copied while it ran. After 4 tries it returns its last bytes, even if the
/// machine was copied again.
const MAX_READS: usize = 4;

/// Reads in a mode other than the default.
pub(super) type OtherRead = fn(&Parts, &mut [u8]) -> Result<(), Error>;

/// Shared by the clones of an engine, its harvester and its [`LocalRng`](crate::LocalRng)s.
pub(crate) struct Parts {
    pub(super) mode: Mode,
    /// Makes the reads of `mode`, if it is not the default. By a pointer that [`EngineBuilder::mode`] alone sets, so that
    /// programs which do not call it are linked without the other modes.
    ///
    /// [`EngineBuilder::mode`]: crate::EngineBuilder::mode
    pub(super) other_read: Option<OtherRead>,
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
    /// Called when the engine is dropped. By a pointer, so that programs without a seed file are linked without this.
    pub(super) save_at_end: fn(&Parts),
    /// The generation of the engine at its last save; [`NEVER_SAVED`] before the first.
    pub(super) saved_generation: AtomicU64,
}

/// No generation is as large.
pub(super) const NEVER_SAVED: u64 = u64::MAX;

impl Parts {
    /// A tap that belongs to its holder.
    pub(crate) fn new_owned_tap(&self) -> OwnedTap {
        self.taps.new_owned()
    }

    /// A read that node 0 may serve before 128 bits were credited.
    pub(super) fn read_early(&self, destination: &mut [u8]) -> Result<(), Error> {
        if self.nodes.phase() == Phase::Ready {
            return self.read(Miss::NONE, destination);
        }
        let seed_engine = |need, signals: &Blocked| self.seed_engine(need, signals);
        self.unless_copied(|| {
            modes::read_reserved(&self.nodes, 0, Phase::Early, &seed_engine, destination)
        })
    }

    /// Runs `draw` on the generator of this thread in the statistical tier.
    #[inline(always)]
    pub(crate) fn pseudo<R>(&self, mut draw: impl FnMut(&mut Xoshiro256PlusPlus) -> R) -> R {
        match self.taps.try_pseudo(&mut draw) {
            Ok(result) => result,
            Err(miss) => self.pseudo_slowly(miss, &mut draw),
        }
    }

    /// Reseeds every node with data that is different in each copy, then moves every tap to a fresh key. Returns the
    /// new generation.
    ///
    /// A new generation alone is not enough: a copy has the same nodes and would draw the same keys from them.
    pub(super) fn diverge(&self) -> u64 {
        match Blocked::try_first() {
            Some(signals) => self.diverge_blocked(&signals),
            // In a handler of a process without system calls. What it interrupted may hold a node.
            None => self.taps.announce(),
        }
    }

    #[inline(never)]
    fn diverge_blocked(&self, signals: &Blocked) -> u64 {
        let mut entropy = FreshEntropy::EMPTY;
        let entropy = entropy.gather();
        self.nodes.stir_all(entropy, signals);
        self.collector.mix(entropy, || ());
        let generation = self.taps.announce();
        stack::erase_below();
        generation
    }

    /// Looks for signs of a copy, and once a minute for pages that were not there before. Diverges on a sign.
    pub(super) fn look_for_clones(&self, now_ms: u64, clock_went_back: bool) {
        if self.clones.look(now_ms) || clock_went_back {
            self.diverge();
        }
        self.handle_clone_epoch(|| self.diverge());
    }

    /// After this the reads of the calling thread make no system call.
    pub(super) fn prepare_for_sandbox(&self) -> Result<(), Error> {
        // The second read takes keys of a new generation, for every depth: later each depth takes its own.
        self.read(Miss::NONE, &mut [0])?;
        self.taps.announce();
        self.read(Miss::NONE, &mut [0])?;
        sandbox::prepare();
        Ok(())
    }

    /// Draws on all fast sources and reseeds every node, then moves every tap to a fresh key. Returns the new generation.
    /// If the fast sources yield too little, the generation moves, too: taps then take fresh keys from the present nodes.
    pub(super) fn reseed(&self) -> Result<u64, Error> {
        let reseeded = self.collector.reseed(self.seed_target());
        let generation = self.taps.announce();
        stack::erase_below();
        reseeded.map(|()| generation)
    }

    /// Writes the seed file from a fresh secret of every node.
    #[inline]
    pub(super) fn save_seed(&self) -> Result<(), SeedFileError> {
        let seed_file = self.seed_file.as_ref().ok_or(SeedFileError::Absent)?;
        if self.nodes.phase() != Phase::Ready {
            // The present file may have more credit.
            return Err(SeedFileError::NotSeeded);
        }
        // Loaded first: a reseed during the save is not a part of it.
        let generation = self.taps.generation();
        let mut secrets = Zeroizing::new(vec![[0; KEY_BYTES]; self.nodes.in_use()]);
        let mut reservation = Reservation::ZERO;
        for (number, secret) in secrets.iter_mut().enumerate() {
            let signals = Blocked::new();
            let bytes = secret.len();
            self.nodes
                .reserve(number, Phase::Ready, bytes, &signals, &mut reservation)
                .ok_or(SeedFileError::NotSeeded)?;
            reservation.generate(self.nodes.backend(), secret);
        }
        let saved = seed_file.store.save(&secrets, FULL_CREDIT_BITS);
        stack::erase_below();
        if saved.is_ok() {
            let saved_generation = &seed_file.saved_generation;
            saved_generation.store(generation, Ordering::Relaxed);
        }
        saved
    }

    /// Writes the seed file, unless this is a child process, or the engine has not reseeded since it wrote the file.
    #[inline]
    pub(super) fn save_seed_at_end(&self) {
        let is_wanted = |file: &EngineSeedFile| {
            let saved_generation = file.saved_generation.load(Ordering::Relaxed);
            file.store.is_ours() && saved_generation != self.taps.generation()
        };
        if self.seed_file.as_ref().is_some_and(is_wanted) {
            // `drop` cannot return an error. If the save fails, the old file stays and is still unused.
            let _ = self.save_seed();
        }
    }

    #[inline]
    pub(super) fn stats(&self) -> Stats {
        let now_ms = os::now_ms();
        Stats {
            mode: self.mode,
            backend: self.nodes.backend(),
            phase: self.nodes.phase(),
            generation: self.taps.generation(),
            taps: self.taps.count(),
            nodes: self.nodes.stats(),
            pools: self.collector.pool_meters.stats(),
            sources: self.collector.stats(now_ms),
            harvester: self.harvester.get().and_then(|status| status.stats(now_ms)),
            clone_detection: self.clones.stats(),
            events_dropped: self.collector.events_dropped(),
            mixes_dropped: self.collector.mixes_dropped(),
            unlocked_bytes: unlocked_bytes() as u64,
            seed_file: self.seed_file.as_ref().map(|file| file.store.stats()),
        }
    }

    /// Makes any read of a thread. What it calls is inlined, so that few instructions follow the last fork check: a fork
    /// in them, by a signal handler, gives parent and child the same bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn read_slowly(&self, destination: &mut [u8]) -> Result<(), Error> {
        self.unless_copied(|| self.read_once(destination))
    }

    /// Inlined, so that few instructions follow the last fork check.
    #[inline(always)]
    pub(super) fn read_owned_inlined(
        &self,
        owned: &mut OwnedTap,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        self.unless_copied(|| {
            let work = self.harvest_if_due(owned.is_marked());
            let node = || self.nodes.local() as u32;
            let fetch = |keys: &mut [u8], signals: &Blocked| self.fetch_keys(keys, signals);
            self.taps
                .read_owned(owned, node, &fetch, work, destination)
                .unwrap_or_else(|| self.read_local_node(destination))
        })
    }

    pub(super) fn seed_target(&self) -> SeedTarget<'_> {
        SeedTarget {
            nodes: &self.nodes,
            taps: &self.taps,
        }
    }

    #[inline(always)]
    fn read_once(&self, destination: &mut [u8]) -> Result<(), Error> {
        let work = self.harvest_if_due(CurrentThread::find().is_marked());
        if let Some(read) = self.other_read {
            return read(self, destination);
        }
        let node = || self.nodes.local() as u32;
        let fetch = |keys: &mut [u8], signals: &Blocked| self.fetch_keys(keys, signals);
        let read = self.taps.read_thread(node, &fetch, work, destination);
        // No tap: a key for this read alone.
        read.unwrap_or_else(|| self.read_local_node(destination))
    }

    pub(super) fn read_local_node(&self, destination: &mut [u8]) -> Result<(), Error> {
        let seed_engine = |need, signals: &Blocked| self.seed_engine(need, signals);
        modes::read_reserved(
            &self.nodes,
            self.nodes.local(),
            Phase::Ready,
            &seed_engine,
            destination,
        )
    }

    /// Not inlined: the table of a `dyn Fn` would have its code twice.
    #[inline(never)]
    fn fetch_keys(&self, keys: &mut [u8], signals: &Blocked) -> Result<(), Error> {
        let seed_engine = |need, signals: &Blocked| self.seed_engine(need, signals);
        let fetched =
            modes::fetch_keys(&self.nodes, self.nodes.local(), &seed_engine, keys, signals);
        stack::erase_below();
        fetched
    }

    #[cold]
    #[inline(never)]
    pub(super) fn seed_engine(&self, need: Phase, signals: &Blocked) -> Result<(), Error> {
        let seeded = self.collector.seed(need, self.seed_target(), signals);
        stack::erase_below();
        seeded
    }

    /// Draws what fork(3) gives to a child.
    pub(crate) fn draw_for_child(&self, secret: &mut [u8; SECRET_BYTES]) -> bool {
        if self.nodes.phase() == Phase::Ready {
            self.read_slowly(secret).is_ok()
        } else {
            // A child that has drawn nothing yet passes on what it has from its own parent.
            inherited::next_secret(secret)
        }
    }

    /// Reads after every known copy was handled; and again, if the machine was copied during the read.
    #[inline(always)]
    fn unless_copied(&self, mut read: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
        for _ in 0..MAX_READS {
            let is_watching = self.clones.epoch().is_watching();
            let handled = self.handle_clone_epoch(|| self.diverge());
            read()?;
            // Where nothing is watched, the epoch is not loaded again: fewer instructions follow the last fork check.
            if !is_watching || self.clones.epoch().current() == handled {
                break;
            }
        }
        Ok(())
    }

    /// Diverges if the clone epoch moved. Returns the epoch that is handled now.
    #[inline(always)]
    fn handle_clone_epoch(&self, diverge: impl FnOnce() -> u64) -> u64 {
        let epoch = self.clones.epoch();
        let current = epoch.current();
        if current != epoch.handled() {
            // Several threads may diverge at the same time. That costs a few reseeds more, and needs no lock.
            diverge();
            epoch.mark_handled(current);
        }
        current
    }

    #[cold]
    #[inline(never)]
    fn pseudo_slowly<R>(
        &self,
        miss: Miss,
        draw: &mut impl FnMut(&mut Xoshiro256PlusPlus) -> R,
    ) -> R {
        self.taps.settle(miss);
        let node = || self.nodes.local() as u32;
        if let Some(result) = self.taps.pseudo(node, draw) {
            return result;
        }
        loop {
            let stamp = self.nodes.stamp();
            let mut words = [0; 4];
            for word in &mut words {
                let mut bytes = [0; 8];
                self.read_when_ready(Miss::NONE, &mut bytes);
                *word = u64::from_le_bytes(bytes);
            }
            let Some(mut generator) = Xoshiro256PlusPlus::from_words(words) else {
                continue;
            };
            let result = draw(&mut generator);
            // If the thread has no slot, the generator was made for this call alone.
            self.taps.keep_pseudo(node, &generator);
            // A fork in between, by a signal handler, would give parent and child the same generator.
            if self.nodes.is_same_process(stamp) {
                return result;
            }
        }
    }
}

impl Drop for Parts {
    /// Writes the seed file, if the engine has one and this is not a child process.
    fn drop(&mut self) {
        if let Some(seed_file) = &self.seed_file {
            (seed_file.save_at_end)(self);
        }
    }
}
