//! The settings of an engine, and how it is built.

use super::Engine;
use super::collector::Collector;
use super::harvester::{Harvester, HarvesterHandle, Running};
use super::inner::{EngineInner, EngineSeedFile, Mode};
use super::nodes::{Nodes, Taps};
use super::samples::SourceEntry;
use crate::clone_detection::{CloneDetector, WatchedPaths};
use crate::error::Error;
use crate::seed_file::{Identity, SeedStore};
use crate::topology_linux;
use core::sync::atomic::{AtomicBool, AtomicU64};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use wellspring_core::node::Seed;
use wellspring_core::self_test::SelfTest;
use wellspring_core::sha256::{DIGEST_BYTES, Sha256};
use wellspring_core::source::Source;
use wellspring_core::topology::Topology;
use wellspring_core::{Backend, Prf, self_test};
use wellspring_os::descriptor::OwnedFd;
use wellspring_os::memory::try_vec;
use wellspring_os::shared::Shared;
use wellspring_os::{memory, os};
use wellspring_sources::{Cpu, Os};
use zeroize::Zeroizing;

type StartSeedFile = fn(PathBuf, Option<Identity>, &Nodes) -> Result<EngineSeedFile, Error>;
type TestBackend = fn(Backend) -> Result<(), SelfTest>;
type StartHarvester = fn(&Shared<EngineInner>, Harvester) -> Result<Option<Running>, Error>;

/// The choices for an [`Engine`]; [`build`](Self::build) makes it.
///
/// Seed files, harvesters and self-tests are started by pointers that only the methods here set. So a program that calls none
/// of these methods is linked without files, threads and slow sources, which saves 89 KB of it.
#[must_use]
pub struct EngineBuilder {
    mode: Mode,
    backend: Option<Backend>,
    self_test: Option<TestBackend>,
    topology: Option<Topology>,
    sources: Option<Vec<SourceEntry>>,
    /// In its own place on the heap, where it stays until it was used and wiped.
    seed: Option<Box<Seed>>,
    seed_file: Option<(PathBuf, StartSeedFile)>,
    identity: Option<Identity>,
    watched: WatchedPaths,
    harvester: Option<(Harvester, StartHarvester)>,
    default_sources: fn() -> Result<Vec<SourceEntry>, Error>,
}

impl Engine {
    /// Begins an engine with the defaults: `PerThread`, the best function for this CPU, this machine's topology, the
    /// standard sources.
    pub fn builder() -> EngineBuilder {
        EngineBuilder {
            mode: Mode::PerThread,
            backend: None,
            self_test: None,
            topology: None,
            sources: None,
            seed: None,
            seed_file: None,
            identity: None,
            watched: WatchedPaths::default(),
            harvester: None,
            default_sources: fast_sources,
        }
    }
}

impl EngineBuilder {
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

    /// Has [`build`](Self::build) run the [self-tests](SelfTest) with the backend, before it does anything else.
    /// [`Engine::self_test`] runs them later. Default: no self-test.
    pub fn self_test(mut self) -> Self {
        self.self_test = Some(self_test::run);
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
    /// Without any source an engine has only its [`seed`](Self::seed): it is deterministic, for tests.
    pub fn sources(mut self, sources: impl IntoIterator<Item = Arc<dyn Source>>) -> Self {
        self.sources = Some(sources.into_iter().map(SourceEntry::new).collect());
        self
    }

    /// A secret to start from, credited 8 bits a byte: 16 bytes or more make an engine ready at once, fewer leave it
    /// waiting for its sources.
    ///
    /// It does not reach a child process made by `fork`, where all secrets are wiped: a child of an engine without
    /// sources is not seeded.
    pub fn seed(mut self, seed: &[u8]) -> Self {
        let place = self.seed.insert(Box::new(Seed::ZERO));
        if seed.len() <= Seed::MAX_BYTES {
            place.set(seed, 8 * seed.len() as u32);
        } else {
            let mut digest = Zeroizing::new([0; DIGEST_BYTES]);
            let mut hash = Sha256::ZERO;
            hash.update(seed);
            hash.finish_into(&mut digest);
            place.set(&*digest, 8 * DIGEST_BYTES as u32);
        }
        memory::erase_below();
        self
    }

    /// A file that carries seeds over a reboot: see [`seed_file`](crate::seed_file). Default: none.
    ///
    /// [`build`](Self::build) reads, replaces and mixes it in. That takes as long as the disk needs to make a file and
    /// its directory durable: milliseconds. No engine fails because of this file; the [`Stats`](crate::Stats) have the
    /// reason.
    pub fn seed_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.seed_file = Some((path.into(), start_seed_file));
        self
    }

    /// Like [`seed_file`](Self::seed_file), but [`build`](Self::build) fails if the file cannot be read and replaced: a
    /// folder that does not exist, no permission, a file of another kind, a full disk. A file that does not exist is made,
    /// and a seed without credit is no error.
    pub fn require_seed_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.seed_file = Some((path.into(), start_required_seed_file));
        self
    }

    /// The machine and the boot that the seed file is tied to. Default: [`Identity::system`].
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// The path of the [generation page](crate::clone_detection). There may be no such file. Default:
    /// [`DEFAULT_PATH`](crate::clone_detection::DEFAULT_PATH).
    pub fn generation_page(mut self, path: impl Into<PathBuf>) -> Self {
        self.watched.page = Cow::Owned(path.into());
        self
    }

    /// The path of the hypervisor's clock. There may be no such file. It is a page that the hypervisor changes before a
    /// clone of the machine runs (the vmclock of Linux 6.13). Default: `/dev/vmclock0`.
    pub fn vmclock(mut self, path: impl Into<PathBuf>) -> Self {
        self.watched.vmclock = Cow::Owned(path.into());
        self
    }

    /// The hypervisor's clock, already open, in place of its [path](Self::vmclock): for a process that may not open the
    /// device by the time it builds its engine.
    pub fn vmclock_device(mut self, device: OwnedFd) -> Self {
        self.watched.vmclock_device = Some(device);
        self
    }

    /// Starts a thread, named `wellspring`, that harvests and ends with the last clone of the engine. Default: none;
    /// readers then harvest on their own calls, one step every 16 ms at most.
    ///
    /// With it no read harvests, slow sources are drawn on, mixed data is taken in soon, and nodes get new seeds while
    /// nothing is read. It takes less than a thousandth of a CPU, and less without reads. A child process made by `fork`
    /// has no such thread; its readers harvest on their own calls again.
    pub fn harvester(mut self, harvester: Harvester) -> Self {
        self.harvester = Some((harvester, HarvesterHandle::start));
        self.default_sources = all_sources;
        self
    }

    /// Makes the engine. It is seeded by its first read, not before.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] when the system has no memory for it,
    /// [`Error::TooManySources`] beyond 16 sources, [`Error::Thread`] when the system has no thread for a
    /// harvester, [`Error::SeedFile`] when a [required](Self::require_seed_file) seed file cannot be used,
    /// [`Error::SelfTest`] when a [self-test](Self::self_test) failed.
    pub fn build(mut self) -> Result<Engine, Error> {
        let harvester = self.harvester.take();
        let inner = self.make()?;
        inner.clones.start(os::now_ms());
        let harvester = match harvester {
            Some((harvester, start)) => start(&inner, harvester)?,
            None => None,
        };
        Ok(Engine {
            _harvester: harvester,
            inner,
        })
    }

    /// The parts, before they do anything. Not inlined: they take 2 KiB of stack on their way, and the first read of a
    /// process promises to take less than 4 KiB.
    #[inline(never)]
    fn make(&mut self) -> Result<Shared<EngineInner>, Error> {
        let backend = self.backend.unwrap_or_else(Backend::best);
        if let Some(test) = self.self_test {
            test(backend).map_err(Error::SelfTest)?;
        }
        let sources = self.sources.take();
        let sources = sources.map_or_else(self.default_sources, Ok)?;
        let topology = match self.mode {
            // These modes read from the root alone, which is node 0.
            Mode::Canonical | Mode::Concurrent => Topology::single(topology_linux::cpus()?),
            Mode::PerNode | Mode::PerThread => {
                let given = self.topology.take();
                given.map_or_else(topology_linux::topology, Ok)?
            }
        };
        let taps = Taps::new(backend, !sources.is_empty());
        let collector = Collector::new(sources, &topology)?;
        let nodes = Nodes::new(topology, backend)?;
        if let Some(seed) = &self.seed {
            nodes.mix_into_root(seed);
        }
        let seed_file = self.seed_file.take();
        let seed_file = seed_file.map(|(path, start)| start(path, self.identity, &nodes));
        let seed_file = seed_file.transpose()?;
        if self.seed.is_some() || seed_file.is_some() {
            memory::erase_below();
        }
        Ok(Shared::try_new(EngineInner {
            mode: self.mode,
            taps,
            nodes,
            collector,
            clones: CloneDetector::new(core::mem::take(&mut self.watched)),
            harvester: OnceLock::new(),
            seed_file,
        })?)
    }
}

/// Reads the seed file, replaces it, and mixes its content in.
fn start_seed_file(
    path: PathBuf,
    identity: Option<Identity>,
    nodes: &Nodes,
) -> Result<EngineSeedFile, Error> {
    let mut seed = Box::new(Seed::ZERO);
    let identity = identity.unwrap_or_else(Identity::system);
    let mut store = Box::new(SeedStore::new(path, identity));
    store.take(nodes.count(), &mut seed);
    if !seed.bytes().is_empty() {
        nodes.mix_into_root(&seed);
    }
    Ok(EngineSeedFile {
        store,
        write: EngineInner::write_seed_file,
        saved_generation: AtomicU64::new(0),
        is_stopped: AtomicBool::new(false),
    })
}

fn start_required_seed_file(
    path: PathBuf,
    identity: Option<Identity>,
    nodes: &Nodes,
) -> Result<EngineSeedFile, Error> {
    let seed_file = start_seed_file(path, identity, nodes)?;
    let fault = seed_file.store.stats().last_error;
    fault.map_or(Ok(seed_file), |fault| Err(Error::SeedFile(fault)))
}

/// Without a harvester, fast sources only: a reader draws on them.
fn fast_sources() -> Result<Vec<SourceEntry>, Error> {
    static OS: Os = Os;
    static CPU: Cpu = Cpu::new();
    // Filled in its place: an entry takes 200 bytes.
    let mut entries = try_vec(2)?;
    for source in [&OS as &'static dyn Source, &CPU] {
        entries.push(SourceEntry::new(source));
    }
    Ok(entries)
}

fn all_sources() -> Result<Vec<SourceEntry>, Error> {
    let sources = wellspring_sources::all().into_iter();
    Ok(sources.map(SourceEntry::new).collect())
}
