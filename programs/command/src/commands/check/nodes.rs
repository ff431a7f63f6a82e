//! Nodes: which node serves which CPU, from when on, and which nodes an order reseeds. On this machine's nodes if it
//! has several, else on four invented ones.

use super::blocks::are_distinct;
use super::outcome::{Outcome, Stop, broken, failed};
use super::reads::{LENGTHS_BYTES, read};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::thread;
use wellspring::{Engine, EngineBuilder, Mode, Phase, Topology};

const INVENTED_NODES: usize = 4;

/// Before 128 credited bits node 0 serves every CPU; after that, each CPU's own node does.
pub(super) fn early_readers_go_to_node_0() -> Outcome {
    for (seed_bytes, phase) in [(8, Phase::Early), (16, Phase::Ready)] {
        let seed = &wellspring::bytes::<16>()[..seed_bytes];
        // Without sources, so that its phase does not change.
        let engine = build(builder()?.seed(seed).sources([]))?;
        let cpus = cpus()?;
        for &cpu in &cpus {
            on(cpu, || engine.fill_early(&mut [0; 64]))?
                .map_err(|error| broken("a read", error))?;
        }
        if phase == Phase::Early && engine.try_fill(&mut [0; 1]).is_ok() {
            return failed("a read was served before 128 bits were credited");
        }
        let stats = engine.stats();
        let served = stats.nodes.iter().filter(|node| node.fetches > 0).count();
        let is_right = match phase {
            Phase::Early => stats.nodes[0].fetches > 0 && served == 1,
            _ => served > 1 || cpus.len() == 1,
        };
        if stats.phase != phase || !is_right {
            return failed(format!(
                "{} after a seed of {seed_bytes} bytes, with {served} nodes serving",
                stats.phase
            ));
        }
    }
    Ok(())
}

/// Each CPU's reads go to its node, and no two nodes return the same.
pub(super) fn every_node_serves_its_cpus() -> Outcome {
    let topology = Topology::even(INVENTED_NODES, INVENTED_NODES);
    let topology = topology.map_err(|error| broken("topology", error))?;
    let engine = build(Engine::builder().mode(Mode::PerNode).topology(topology))?;
    let cpus: Vec<usize> = cpus()?.into_iter().take(INVENTED_NODES).collect();
    let mut reads = vec![read(&engine, 64)];
    for &cpu in &cpus {
        reads.extend(on(cpu, || {
            LENGTHS_BYTES.map(|length| read(&engine, length))
        })?);
    }
    let stats = engine.stats();
    if (stats.phase, stats.nodes.len()) != (Phase::Ready, INVENTED_NODES) {
        let nodes = stats.nodes.len();
        return failed(format!("phase {} with {nodes} nodes", stats.phase));
    }
    for node in cpus.iter().map(|cpu| cpu % INVENTED_NODES) {
        if stats.nodes[node].fetches == 0 {
            return failed(format!("node {node} has not served its CPU"));
        }
    }
    are_distinct(reads.iter().map(Vec::as_slice))
}

/// An order reseeds every node, read or not.
pub(super) fn an_order_reseeds_every_node() -> Outcome {
    let engine = build(builder()?)?;
    read(&engine, 1);
    let reseeds = || engine.stats().nodes.into_iter().map(|node| node.reseeds);
    let before: Vec<u64> = reseeds().collect();
    let reseeded = engine.reseed();
    reseeded.map_err(|error| broken("a reseed", error))?;
    let pairs = reseeds().zip(before).enumerate();
    let old: Vec<usize> = pairs
        .filter(|(_, (after, before))| after <= before)
        .map(|(node, _)| node)
        .collect();
    if old.is_empty() {
        return Ok(());
    }
    failed(format!("an order did not reseed nodes {old:?}"))
}

fn builder() -> Result<EngineBuilder, Stop> {
    let real = || Engine::builder().mode(Mode::PerNode);
    if build(real())?.stats().nodes.len() > 1 {
        return Ok(real());
    }
    let invented = Topology::even(INVENTED_NODES, INVENTED_NODES);
    Ok(real().topology(invented.map_err(|error| broken("topology", error))?))
}

fn build(builder: EngineBuilder) -> Result<Engine, Stop> {
    builder.build().map_err(|error| broken("engine", error))
}

/// The CPUs that this process may use.
fn cpus() -> Result<Vec<usize>, Stop> {
    let allowed = sched_getaffinity(None).map_err(|error| broken("CPUs", error))?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| allowed.is_set(cpu))
        .collect())
}

/// Runs `work` on a CPU, in a new thread, so that this thread keeps its affinity.
fn on<R: Send>(cpu: usize, work: impl FnOnce() -> R + Send) -> Result<R, Stop> {
    let here = || {
        let mut here = CpuSet::new();
        here.set(cpu);
        sched_setaffinity(None, &here).map_err(|error| broken("moving to a CPU", error))?;
        Ok(work())
    };
    let worker = thread::scope(|scope| scope.spawn(here).join());
    worker.unwrap_or_else(|_| Err(Stop::Failed("panicked".into())))
}
