//! Every way to draw.

use rand_core::Rng as _;
use wellspring::{Engine, LocalRng, Mode, ThreadRng};

/// A way to draw. No two of them repeat a byte.
pub(crate) enum Door {
    Engine(Engine),
    Global,
    ThreadRng(ThreadRng),
    Owned(LocalRng),
    Pseudo,
}

impl Door {
    /// One of each, on engines of their own where they have one.
    pub(crate) fn all() -> Vec<Door> {
        let engines = Mode::ALL.map(|mode| Door::Engine(engine(mode)));
        let others = [
            Door::Global,
            Door::ThreadRng(wellspring::rng()),
            Door::Owned(engine(Mode::PerThread).rng()),
            Door::Pseudo,
        ];
        engines.into_iter().chain(others).collect()
    }

    pub(crate) fn fill(&mut self, destination: &mut [u8]) {
        match self {
            Door::Engine(engine) => engine.fill(destination),
            Door::Global => wellspring::fill(destination),
            Door::ThreadRng(rng) => rng.fill_bytes(destination),
            Door::Owned(rng) => rng.fill(destination),
            Door::Pseudo => wellspring_pseudo_thread::fill(destination),
        }
    }

    /// Fills `destination` by reads of `bytes` each.
    pub(crate) fn fill_by(&mut self, bytes: usize, destination: &mut [u8]) {
        for read in destination.chunks_mut(bytes) {
            self.fill(read);
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Door::Engine(engine) => format!("an engine in mode {}", engine.mode()),
            Door::Global => "the functions of the crate".into(),
            Door::ThreadRng(_) => "the handle of a thread".into(),
            Door::Owned(_) => "an owned generator".into(),
            Door::Pseudo => "the statistical tier".into(),
        }
    }
}

/// An engine of two nodes, whatever the machine has.
pub(crate) fn engine(mode: Mode) -> Engine {
    let topology = "nodes=2,cpus=2".parse().unwrap();
    let builder = Engine::builder().mode(mode).topology(topology);
    builder.build().unwrap()
}
