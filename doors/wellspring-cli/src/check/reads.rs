//! Modes, nodes, two threads.

use super::blocks::are_distinct;
use super::{Outcome, Stop, broken, failed};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::thread;
use wellspring::{Engine, Mode, Phase, Topology};

/// Small reads and large ones, of no special length and longer than a key may serve.
const LENGTHS_BYTES: [usize; 5] = [16, 48, 4096, 70_000, (1 << 20) + 16];

/// All modes read, and no two return the same.
pub(super) fn modes_differ() -> Outcome {
    let mut reads = Vec::new();
    for mode in Mode::ALL {
        let engine = Engine::builder().mode(mode).build();
        let engine = engine.map_err(|error| broken(mode.name(), error))?;
        reads.extend(LENGTHS_BYTES.map(|length| read(&engine, length)));
    }
    are_distinct(reads.iter().map(Vec::as_slice))
}

/// With a node for each CPU, each CPU's reads go to its node, and no two nodes return the same.
pub(super) fn every_node_serves_its_cpus() -> Outcome {
    const NODES: usize = 4;
    let topology = Topology::even(NODES, NODES).map_err(|error| broken("topology", error))?;
    let engine = Engine::builder()
        .mode(Mode::PerNode)
        .topology(topology)
        .build();
    let engine = engine.map_err(|error| broken("engine", error))?;
    let allowed = sched_getaffinity(None).map_err(|error| broken("CPUs", error))?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| allowed.is_set(cpu))
        .take(NODES)
        .collect();
    let read_on = |cpu: usize| {
        let mut here = CpuSet::new();
        here.set(cpu);
        sched_setaffinity(None, &here).map_err(|error| broken("moving to a CPU", error))?;
        Ok::<_, Stop>(LENGTHS_BYTES.map(|length| read(&engine, length)))
    };
    let mut reads = vec![read(&engine, 64)];
    for &cpu in &cpus {
        // In a thread of its own, which takes the affinity with it.
        let worker = thread::scope(|scope| scope.spawn(|| read_on(cpu)).join());
        reads.extend(worker.unwrap_or_else(|_| Err(Stop::Failed("panicked".into())))?);
    }
    let stats = engine.stats();
    if (stats.phase, stats.nodes.len()) != (Phase::Ready, NODES) {
        return failed(format!(
            "phase {} with {} nodes",
            stats.phase,
            stats.nodes.len()
        ));
    }
    for &cpu in &cpus {
        if stats.nodes[cpu % NODES].fetches == 0 {
            return failed(format!("node {} has not served CPU {cpu}", cpu % NODES));
        }
    }
    are_distinct(reads.iter().map(Vec::as_slice))
}

/// Two threads at the same time return nothing that the other returns.
pub(super) fn threads_share_nothing() -> Outcome {
    const READS: usize = 20_000;
    let draw = || {
        let mut all = vec![0; READS * 48];
        // In small reads: those are served from a buffer.
        all.chunks_mut(48).for_each(wellspring::fill);
        all
    };
    let both = thread::scope(|scope| {
        let other = scope.spawn(draw);
        [Ok(draw()), other.join()]
    });
    let [Ok(one), Ok(other)] = both else {
        return failed("a thread panicked");
    };
    are_distinct([one.as_slice(), &other])
}

fn read(engine: &Engine, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    engine.fill(&mut bytes);
    bytes
}
