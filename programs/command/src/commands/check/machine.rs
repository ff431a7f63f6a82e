//! Nodes and memory of this machine: which node serves which CPU, from when on, and which nodes an order reseeds; and bytes
//! that a read returned are nowhere else in memory.

use super::{LENGTHS_BYTES, Outcome, Stop, are_distinct, broken, failed, read, skipped};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::{File, read_to_string};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
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

// Bytes that a read returned are nowhere else in memory.

/// The length of the secret that is drawn and then searched for.
const SECRET_BYTES: usize = 32;

/// Memory is read in pieces, which overlap so that a secret across two pieces is found.
const PIECE_BYTES: usize = 1 << 16;

/// Draws a secret, overwrites it, and searches all memory of the process.
pub(super) fn output_is_not_kept() -> Outcome {
    let Ok(memory) = File::open("/proc/self/mem") else {
        return skipped("/proc/self/mem cannot be read");
    };
    let mut drawn = Box::new([0; SECRET_BYTES]);
    let mut piece = vec![0; PIECE_BYTES];
    wellspring::fill(drawn.as_mut_slice());
    // Keep the secret inverted: the search must not find its own copy.
    let inverted: [u8; SECRET_BYTES] = core::array::from_fn(|index| !black_box(drawn[index]));
    if !is_found(&inverted, &memory, &mut piece)? {
        return failed("the search does not find what is there");
    }
    forget(drawn.as_mut_slice());
    forget(&mut piece);
    if is_found(&inverted, &memory, &mut piece)? {
        return failed(
            "32 bytes were found in memory after a read had returned them and the reader had erased them",
        );
    }
    Ok(())
}

/// Overwrites; `black_box` keeps the compiler from leaving it out.
fn forget(bytes: &mut [u8]) {
    bytes.fill(0);
    black_box(bytes);
}

/// Whether the secret, which is the inversion of `inverted`, is anywhere in writable memory except in `piece`.
fn is_found(inverted: &[u8], memory: &File, piece: &mut [u8]) -> Result<bool, Stop> {
    let maps =
        read_to_string("/proc/self/maps").map_err(|error| broken("/proc/self/maps", error))?;
    let own = piece.as_ptr_range();
    let own = own.start.addr() as u64..own.end.addr() as u64;
    let writable = maps.lines().filter_map(writable_range);
    for (start, end) in writable {
        let mut address = start;
        while address < end {
            let length = piece.len().min((end - address) as usize);
            // Pages that cannot be read hold nothing: guard pages, or pages of the kernel.
            let Ok(length) = memory.read_at(&mut piece[..length], address) else {
                break;
            };
            let found = find(inverted, &piece[..length], address, &own);
            forget(&mut piece[..length]);
            if found {
                return Ok(true);
            }
            if length <= SECRET_BYTES {
                break;
            }
            address += (length - SECRET_BYTES) as u64;
        }
    }
    Ok(false)
}

/// Whether the secret is in a piece of memory that was read from `address`.
fn find(inverted: &[u8], piece: &[u8], address: u64, own: &std::ops::Range<u64>) -> bool {
    let is_here = |window: &[u8]| {
        window
            .iter()
            .zip(inverted)
            .all(|(byte, inverted)| *byte == !black_box(*inverted))
    };
    let windows = (address..).zip(piece.windows(inverted.len()));
    windows
        .filter(|(address, _)| !own.contains(address))
        .any(|(_, window)| is_here(window))
}

/// The range of a line of /proc/self/maps, if the process may write there.
fn writable_range(line: &str) -> Option<(u64, u64)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let is_writable = rest.starts_with("rw");
    let parse = |text| u64::from_str_radix(text, 16).ok();
    is_writable.then_some((parse(start)?, parse(end)?))
}
