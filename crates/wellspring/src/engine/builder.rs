//! What an engine is made of.

use super::Harvester;
use super::chore::Chore;
use super::clones::{Listen, Places};
use super::keep::Save;
use crate::seed_file::Identity;
use crate::{Engine, Error, Mode, copies, generation_page, machine};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::Arc;
use wellspring_core::pool::Seed;
use wellspring_core::source::Source;
use wellspring_core::topology::Topology;
use wellspring_core::{Backend, Prf};
use wellspring_sources::{Cpu, Os};

/// The most sources of one engine.
pub(super) const MAX_SOURCES: usize = 16;

/// Collects what an [`Engine`] is made of; [`build`](Self::build) makes it.
#[must_use]
pub struct EngineBuilder {
    mode: Mode,
    backend: Option<Backend>,
    topology: Option<Topology>,
    sources: Option<Vec<Arc<dyn Source>>>,
    seed: Option<Seed>,
    seed_file: Option<PathBuf>,
    identity: Option<Identity>,
    places: Places,
    harvester: Option<Harvester>,
}

/// The same, with every choice made.
pub(super) struct Parts {
    pub(super) mode: Mode,
    pub(super) backend: Backend,
    pub(super) topology: Topology,
    pub(super) sources: Vec<Arc<dyn Source>>,
    pub(super) seed: Option<Seed>,
    pub(super) seed_file: Option<(PathBuf, Identity)>,
    pub(super) places: Places,
    pub(super) harvester: Option<Harvester>,
    /// What the harvester's thread does beside harvesting.
    pub(super) chores: Vec<Box<dyn Chore>>,
}

impl EngineBuilder {
    pub(super) fn new() -> Self {
        Self {
            mode: Mode::PerThread,
            backend: None,
            topology: None,
            sources: None,
            seed: None,
            seed_file: None,
            identity: None,
            places: Places {
                page: generation_page::DEFAULT_PATH.into(),
                vmclock: copies::VMCLOCK_PATH.into(),
            },
            harvester: None,
        }
    }

    /// The read mode. Default: [`Mode::PerThread`].
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The pseudo-random function, in its best implementation for this CPU. Default: AES-256 where the CPU
    /// has instructions for it, else ChaCha20.
    pub fn prf(mut self, prf: Prf) -> Self {
        self.backend = Some(Backend::detect(prf));
        self
    }

    /// The function in a given implementation: for tests and benchmarks.
    ///
    /// # Panics
    ///
    /// When this CPU does not run it.
    pub fn backend(mut self, backend: Backend) -> Self {
        assert!(backend.is_available(), "this CPU does not run {backend}");
        self.backend = Some(backend);
        self
    }

    /// The nodes and their CPUs. Default: this machine's.
    pub fn topology(mut self, topology: Topology) -> Self {
        self.topology = Some(topology);
        self
    }

    /// The sources of noise, up to 16. Default: the operating system and the CPU's instructions; with a
    /// harvester, also the timing of memory and of wake-ups, the counts of interrupts, and /dev/hwrng.
    ///
    /// None at all makes an engine that lives on its [`seed`](Self::seed): deterministic, for tests.
    pub fn sources(mut self, sources: impl IntoIterator<Item = Arc<dyn Source>>) -> Self {
        self.sources = Some(sources.into_iter().collect());
        self
    }

    /// A secret to start from, credited 8 bits a byte; 16 bytes or more make an engine ready at once.
    ///
    /// It does not reach a child process made by `fork`, where everything secret is wiped: a child of an
    /// engine without sources is not seeded.
    pub fn seed(mut self, seed: &[u8]) -> Self {
        let credit_bits = u32::try_from(8 * seed.len()).unwrap_or(u32::MAX);
        self.seed = Some(match seed.len() {
            ..=Seed::MAX_BYTES => Seed::new(seed, credit_bits),
            _ => Seed::new(&Sha256::digest(seed), 256),
        });
        self
    }

    /// A file that carries seeds over a reboot: see [`seed_file`](crate::seed_file). Default: none.
    ///
    /// It is read, replaced and mixed in by [`build`](Self::build), which takes as long as the disk needs to
    /// make a file and its folder durable: milliseconds. An engine never fails for its seed file; what became
    /// of it is in the [`Stats`](crate::Stats).
    pub fn seed_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.seed_file = Some(path.into());
        self
    }

    /// The machine and the boot that the seed file is tied to. Default: [`Identity::system`].
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Where the [generation page](crate::generation_page) is, if there is one. Default:
    /// [`generation_page::DEFAULT_PATH`].
    pub fn generation_page(mut self, path: impl Into<PathBuf>) -> Self {
        self.places.page = path.into();
        self
    }

    /// Where the hypervisor's clock is, if there is one: a page that it changes before it lets a clone of the
    /// machine run (the vmclock of Linux 6.13). Default: `/dev/vmclock0`.
    pub fn vmclock(mut self, path: impl Into<PathBuf>) -> Self {
        self.places.vmclock = path.into();
        self
    }

    /// Starts a thread, named `wellspring`, that harvests, and ends with the last clone of the engine. Default:
    /// none, and readers harvest on their own calls, ten times a second at most.
    ///
    /// With it no read harvests, slow sources are drawn on, and queues are emptied in time. It costs less than
    /// a thousandth of a CPU, and less while nobody reads. A child process made by `fork` has no such thread; its
    /// readers harvest on their own calls again.
    pub fn harvester(mut self, harvester: Harvester) -> Self {
        self.harvester = Some(harvester);
        self
    }

    /// Makes the engine. It is seeded by its first read, not before.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] when the system has no memory that a child process would find wiped,
    /// [`Error::TooManySources`] beyond 16 sources, [`Error::Thread`] when the system has no thread for a
    /// harvester.
    pub fn build(self) -> Result<Engine, Error> {
        let sources = self.sources.unwrap_or_else(|| match self.harvester {
            Some(_) => wellspring_sources::all(),
            None => standard_sources(),
        });
        if sources.len() > MAX_SOURCES {
            return Err(Error::TooManySources);
        }
        let topology = match self.mode {
            // These modes read from the root alone, which is node 0.
            Mode::Canonical | Mode::Concurrent => Topology::single(machine::cpus()),
            Mode::PerNode | Mode::PerThread => self.topology.unwrap_or_else(machine::topology),
        };
        let mut chores: Vec<Box<dyn Chore>> = Vec::new();
        if self.harvester.is_some() {
            chores.push(Box::new(Listen::new()));
        }
        if self.seed_file.is_some() {
            chores.push(Box::new(Save::default()));
        }
        Engine::new(Parts {
            mode: self.mode,
            backend: self.backend.unwrap_or_else(machine::best_backend),
            topology,
            sources,
            seed: self.seed,
            seed_file: self
                .seed_file
                .map(|path| (path, self.identity.unwrap_or_else(Identity::system))),
            places: self.places,
            chores,
            harvester: self.harvester,
        })
    }
}

/// What an engine draws on that has no thread of its own: fast sources only.
fn standard_sources() -> Vec<Arc<dyn Source>> {
    vec![Arc::new(Os), Arc::new(Cpu::default())]
}
