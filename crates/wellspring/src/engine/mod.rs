//! An engine: sources, pools, nodes and the threads' taps, tied together.
//!
//! ```text
//! builder   what an engine is made of
//! memory    where its secrets live: all of it wiped on fork
//! chore     what the harvester's thread does beside harvesting
//! rows      a source in an engine: health, pools' turn, counts
//! harvest   sources -> health -> queues -> pools -> mailboxes
//! harvester a thread for it; without one, whoever is due and gets the try-lock
//! read      the four read modes
//! clones    parting from copies of the machine, and after a sleep
//! keep      the seed file: at the beginning, every ten minutes, at the end
//! pseudo    the threads' generators of the statistical tier
//! stats     what can be said about it without a secret
//! ```

mod builder;
mod chore;
mod clones;
mod harvest;
mod harvester;
mod keep;
mod memory;
mod pseudo;
mod read;
mod rows;
mod stats;

pub use builder::EngineBuilder;
pub use harvester::{Harvester, HarvesterStats};
pub use stats::{NodeStats, Phase, SourceStats, Stats};

use crate::seed_file::{Keeper, SeedFileError};
use crate::{Error, LocalRng, Mode};
use builder::Parts;
use clones::{Copies, Listen};
use core::fmt;
use core::sync::atomic::Ordering;
use harvester::Tether;
use memory::{NodeMemory, PoolMemory, ThreadStates};
use std::sync::Arc;
use wellspring_core::generation::Generation;
use wellspring_core::harvest::Queue;
use wellspring_core::topology::Topology;
use wellspring_core::{Backend, Prf};
use wellspring_sys::memory::Wiped;
use wellspring_sys::system;

/// An engine of one's own. Clones share it.
///
/// Most programs need none: the functions of the crate's root read from the engine of the process. One of
/// one's own makes sense for another [`Mode`], [`Prf`] or [`Topology`], for sources of one's own, or for a
/// test.
///
/// ```
/// use wellspring::{Engine, Mode, Prf};
/// let engine = Engine::builder().mode(Mode::Concurrent).prf(Prf::ChaCha20).build()?;
/// let mut key = [0u8; 32];
/// engine.try_fill(&mut key)?;
/// # Ok::<(), wellspring::Error>(())
/// ```
///
/// Every method may be called from any thread, from a signal handler, and in a child process after a fork:
/// no read ever repeats what another read returned.
#[derive(Clone)]
pub struct Engine {
    /// Before what its thread works on.
    _tether: Option<Arc<Tether>>,
    pub(crate) shared: Arc<Shared>,
}

/// What the clones of an engine, its threads and its [`LocalRng`]s share.
pub(crate) struct Shared {
    mode: Mode,
    backend: Backend,
    topology: Topology,
    /// Whether the operating system's output is mixed into every tap key. Not in an engine without sources,
    /// which is deterministic.
    mixes_fresh: bool,
    /// In ordinary memory: see [`Generation`].
    pub(crate) generation: Generation,
    /// As well: a page that another process writes is the same page in a child.
    pub(crate) copies: Copies,
    pub(crate) nest: ThreadStates,
    nodes: Box<[Wiped<NodeMemory>]>,
    pools: Wiped<PoolMemory>,
    queues: Box<[Wiped<Queue>]>,
    sources: Box<[rows::Row]>,
    seed_file: Option<Keeper>,
}

impl Engine {
    /// Begins an engine with the defaults: `PerThread`, the best function for this CPU, this machine's topology,
    /// the standard sources.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::new()
    }

    fn new(parts: Parts) -> Result<Self, Error> {
        let topology = &parts.topology;
        let nodes = (0..topology.nodes()).map(|node| Wiped::new(topology.system_node(node)));
        let queue_of = |cpu| Wiped::new(topology.system_node(topology.node_of(cpu)));
        let nodes = nodes.collect::<Result<_, _>>().map_err(|_| Error::Memory)?;
        let queues = (0..topology.cpus()).map(queue_of).collect::<Result<_, _>>();
        let (seed_file, kept) = match parts.seed_file {
            Some((path, identity)) => {
                let (keeper, seed) = Keeper::start(path, identity, topology.nodes());
                (Some(keeper), seed)
            }
            None => (None, None),
        };
        let shared = Shared {
            mode: parts.mode,
            backend: parts.backend,
            mixes_fresh: !parts.sources.is_empty(),
            generation: Generation::new(),
            copies: Copies::new(parts.places, system::now_ms()),
            nest: ThreadStates::new(),
            nodes,
            pools: Wiped::new(topology.system_node(0)).map_err(|_| Error::Memory)?,
            queues: queues.map_err(|_| Error::Memory)?,
            sources: parts.sources.into_iter().map(rows::Row::new).collect(),
            seed_file,
            topology: parts.topology,
        };
        shared.pools.locked.store(1, Ordering::Relaxed);
        if let Some(seed) = &parts.seed {
            // Into an empty mailbox: nobody else has the engine yet.
            let _ = shared.nodes[0].inlet.post(seed);
        }
        if let Some(kept) = &kept {
            shared.mix_into_root(kept);
        }
        let shared = Arc::new(shared);
        let start = |harvester| Tether::start(&shared, harvester, parts.chores);
        let tether = parts.harvester.map(start).transpose()?.flatten();
        Ok(Self {
            _tether: tether.map(Arc::new),
            shared,
        })
    }

    /// Starts a harvester that ends with the process, unless one is at work.
    pub(crate) fn start_harvester(&self, harvester: Harvester) -> Result<(), Error> {
        Tether::start(&self.shared, harvester, vec![Box::new(Listen::new())]).map(core::mem::forget)
    }

    /// Fills `destination`, of any length. Waits for the first seed, if need be.
    ///
    /// An engine without a seed and without a source that ever yields credited noise waits for ever; see
    /// [`try_fill`](Self::try_fill).
    #[inline(always)]
    pub fn fill(&self, destination: &mut [u8]) {
        if !self.shared.take(destination) {
            self.shared.fill_slowly(destination);
        }
    }

    /// Fills `destination`, of any length, without waiting for the first seed.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeeded`]; `destination` is then untouched.
    #[inline(always)]
    pub fn try_fill(&self, destination: &mut [u8]) -> Result<(), Error> {
        if self.shared.take(destination) {
            return Ok(());
        }
        self.shared.read(destination)
    }

    /// 32 random bits. As [`fill`](Self::fill).
    #[must_use]
    #[inline]
    pub fn u32(&self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    /// 64 random bits. As [`fill`](Self::fill).
    #[must_use]
    #[inline]
    pub fn u64(&self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// `N` random bytes. As [`fill`](Self::fill).
    #[must_use]
    #[inline]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// A generator of one's own on this engine, for hot loops: a tap that is not tied to a thread.
    #[must_use]
    pub fn rng(&self) -> LocalRng {
        LocalRng::new(self.clone())
    }

    /// Hashes `data` into the pools, credited nothing: anyone may, whatever it is.
    ///
    /// Lossy, as the harvest is: gives up rather than wait. Takes effect with a later reseed.
    pub fn mix(&self, data: &[u8]) {
        self.shared.mix(data);
    }

    /// Draws on all sources, reseeds the root, and moves every tap to a fresh key at its next read; returns
    /// the new generation. For an operator who has a reason: the engine reseeds itself.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeeded`] when the sources yielded nothing to reseed with. The generation has moved all the
    /// same, and taps take fresh keys of the present nodes.
    pub fn reseed(&self) -> Result<u64, Error> {
        self.shared.reseed()
    }

    /// Parts from all copies of this process and this machine: reseeds every node with output of the system, the
    /// processor and the clocks of this moment, and moves every tap to a fresh key at its next read; returns the new
    /// generation.
    ///
    /// For whoever restores a snapshot or a checkpoint and knows of it first. An engine does so by itself when the
    /// [generation page](crate::generation_page) or the hypervisor's clock says so, after a sleep, and with a
    /// harvester when the kernel sends its notice. An engine that was deterministic is no longer.
    pub fn diverge_from_clones(&self) -> u64 {
        self.shared.part()
    }

    /// Writes the engine's [seed file](crate::seed_file) now, from fresh output of every node. An engine does so by
    /// itself when its last handle goes, and every ten minutes if it has a harvester.
    ///
    /// # Errors
    ///
    /// Why it was not written; the old file stands.
    pub fn save_seed(&self) -> Result<(), SeedFileError> {
        self.shared.save_seed()
    }

    /// The generation: 1 at first, one more with every reseed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.generation.current()
    }

    /// Starts a source again that its health tests put in quarantine or out of use: its next 1024 samples are a
    /// start-up. For an operator who knows what was wrong. Says whether there is a source of this name.
    pub fn restart_source(&self, name: &str) -> bool {
        self.shared.restart_source(name)
    }

    /// The read mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.shared.mode
    }

    /// The pseudo-random function.
    #[must_use]
    pub fn prf(&self) -> Prf {
        self.shared.backend.prf()
    }

    /// The implementation of the function that this engine runs.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.shared.backend
    }

    /// What can be said of the engine without a secret.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }
}

impl Shared {
    /// The node that serves the CPU this thread runs on.
    pub(crate) fn local_node(&self) -> usize {
        match self.nodes.len() {
            1 => 0,
            _ => self.topology.node_of(system::current_cpu()),
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("mode", &self.mode())
            .field("backend", &self.backend())
            .finish_non_exhaustive()
    }
}
