//! Which engine a command uses.

use crate::args::{backends, modes, prfs};
use crate::failure::{Failure, say};
use clap::Args;
use std::path::PathBuf;
use wellspring::seed_file::SeedFound;
use wellspring::{Backend, Engine, Error, Harvester, Mode, Prf, Topology};

/// Which engine.
#[derive(Args)]
pub(crate) struct EngineRequest {
    /// What happens on a read [default: per-thread]
    ///
    /// canonical: bytes are made under the lock of the root, 4096 at a time. concurrent: the lock is held to set
    /// them aside. per-node: the same, on the generator of the reader's NUMA node. per-thread: from the thread's
    /// own tap, without a lock.
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub(crate) mode: Option<Mode>,

    /// The cipher [default: aes256 where the CPU has instructions for it]
    #[arg(long, value_name = "PRF", value_parser = prfs(), conflicts_with = "backend")]
    pub(crate) prf: Option<Prf>,

    /// The implementation of the cipher [default: the best on this CPU]
    #[arg(long, value_name = "NAME", value_parser = backends())]
    pub(crate) backend: Option<Backend>,

    /// Nodes and CPUs, like nodes=4,cpus=8 [default: this machine's]
    ///
    /// Each node gets an equal run of neighbouring CPUs. The modes canonical and concurrent know no nodes.
    #[arg(long, value_name = "TOPOLOGY")]
    pub(crate) topology: Option<Topology>,

    /// A file that carries seeds over a reboot [default: none]
    ///
    /// It is read, replaced by another, and mixed in; and written again at the end. A line on stderr says if it was
    /// damaged, refused or could not be replaced: the command goes on without it. See wellspring seed.
    #[arg(long, value_name = "FILE")]
    pub(crate) seed_file: Option<PathBuf>,

    /// Gather noise on a thread of its own, from slow sources too; no read does then
    #[arg(long)]
    pub(crate) harvester: bool,
}

impl EngineRequest {
    /// Makes the engine.
    pub(crate) fn build(&self) -> Result<Engine, Failure> {
        let mut builder = Engine::builder();
        if let Some(mode) = self.mode {
            if self.topology.is_some() && matches!(mode, Mode::Canonical | Mode::Concurrent) {
                let reason = format!("--mode {mode} knows no nodes: --topology has no use");
                return Err(Failure::Input(reason));
            }
            builder = builder.mode(mode);
        }
        if let Some(prf) = self.prf {
            builder = builder.prf(prf);
        }
        if let Some(backend) = self.backend {
            builder = builder.backend(available(backend)?);
        }
        if let Some(topology) = self.topology.clone() {
            builder = builder.topology(topology);
        }
        if let Some(path) = &self.seed_file {
            builder = builder.seed_file(path);
        }
        if self.harvester {
            builder = builder.harvester(Harvester::default());
        }
        let engine = builder
            .build()
            .map_err(|error: Error| Failure::work(error))?;
        if let Some(seed_file) = engine.stats().seed_file {
            let name = seed_file.path.display();
            if seed_file.found.is_fault() {
                say(&format!("wellspring: {name}: {}", seed_file.found));
            }
            if let Some(error) = seed_file
                .last_error
                .filter(|_| !matches!(seed_file.found, SeedFound::Refused(_)))
            {
                say(&format!("wellspring: {name}: not written: {error}"));
            }
        }
        Ok(engine)
    }
}

/// The backend, if this CPU runs it.
pub(crate) fn available(backend: Backend) -> Result<Backend, Failure> {
    match backend.is_available() {
        true => Ok(backend),
        false => Err(Failure::Input(format!(
            "--backend {backend}: this CPU does not run it"
        ))),
    }
}
