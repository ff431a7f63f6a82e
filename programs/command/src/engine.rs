//! The arguments that choose an engine, and the engine made from them.

use crate::failure::{Failure, say};
use crate::values::{available, named};
use clap::Args;
use std::path::PathBuf;
use wellspring::seed_file::{SeedFileError, SeedFound};
use wellspring::{Backend, Engine, FileFault, Harvester, Mode, Prf, Topology};

/// Which engine.
#[derive(Args)]
pub(crate) struct EngineRequest {
    /// How a read makes its bytes [default: per-thread]
    ///
    /// canonical: under the lock of the one generator, 4096 bytes at a time. concurrent: the lock is held only to
    /// reserve the bytes. per-node: the same, with the generator of the reader's NUMA node. per-thread: from the
    /// thread's own tap, without a lock.
    #[arg(long, value_name = "MODE", value_parser = named(&Mode::ALL, Mode::name))]
    mode: Option<Mode>,

    /// The cipher [default: aes256 where the CPU has instructions for it]
    #[arg(long, value_name = "PRF", value_parser = named(&Prf::ALL, Prf::name), conflicts_with = "backend")]
    prf: Option<Prf>,

    /// The implementation of the cipher [default: the best on this CPU]
    #[arg(long, value_name = "NAME", value_parser = named(Backend::ALL, Backend::name))]
    backend: Option<Backend>,

    /// Nodes and CPUs, like nodes=4,cpus=8 [default: those of this machine]
    ///
    /// Each node gets the same number of neighbouring CPUs. The modes canonical and concurrent use one node.
    #[arg(long, value_name = "TOPOLOGY")]
    topology: Option<Topology>,

    /// A file that carries seeds over a reboot [default: none]
    ///
    /// The command reads it, replaces it, mixes the old seed in, and writes it again at the end. A file that does not
    /// exist is made; its folder must exist. A damaged seed file is replaced. A file of another kind stays as it is. In
    /// both cases, and if the file cannot be replaced, a line on stderr says so and the command continues. See
    /// wellspring seed.
    #[arg(long, value_name = "FILE")]
    seed_file: Option<PathBuf>,

    /// Collect noise in a separate thread, also from slow sources; then no read has to do it
    #[arg(long)]
    harvester: bool,
}

impl EngineRequest {
    /// Makes the engine.
    pub(crate) fn build(&self) -> Result<Engine, Failure> {
        let mut builder = Engine::builder();
        if let Some(mode) = self.mode {
            if self.topology.is_some() && matches!(mode, Mode::Canonical | Mode::Concurrent) {
                let reason = format!("--mode {mode} has no nodes: --topology has no effect");
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
        let engine = builder.build().map_err(Failure::work)?;
        if let Some(seed_file) = engine.stats().seed_file {
            let name = seed_file.path.display();
            // A file that does not exist yet is made. So it is its folder that does not exist.
            if let SeedFound::Refused(SeedFileError::File(FileFault::System(error))) =
                seed_file.found
                && (error.is_not_found() || error.is_no_folder())
            {
                return Err(Failure::input(format!("{name}: {error}")));
            }
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
