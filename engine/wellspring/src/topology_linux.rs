//! The nodes and CPUs of this machine, from sysfs.

use crate::error::Error;
use core::fmt::{self, Write};
use wellspring_core::topology::{MAX_CPUS, SystemNode, Topology, TopologyError};
use wellspring_os::memory::{MemoryError, try_vec};
use wellspring_os::os::{self, read_file};

const SYSTEM: &str = "/sys/devices/system";

/// The length of the longest file: 64 distances, or the CPUs of a machine that has every third of 4096.
const MAX_FILE_BYTES: usize = 8192;

/// The reason why there is no description of the machine.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// The system does not say.
    Absent,
    /// There is no memory to read it. The next caller may have better luck.
    Memory,
}

impl From<MemoryError> for Fault {
    fn from(_: MemoryError) -> Self {
        Self::Memory
    }
}

impl From<TopologyError> for Fault {
    fn from(error: TopologyError) -> Self {
        match error {
            TopologyError::Memory => Self::Memory,
            _ => Self::Absent,
        }
    }
}

/// Returns the value, or its stand-in if the system does not say.
fn or<T>(found: Result<T, Fault>, otherwise: impl FnOnce() -> T) -> Result<T, Fault> {
    match found {
        Err(Fault::Absent) => Ok(otherwise()),
        found => found,
    }
}

/// The nodes and CPUs of this machine, or one node if the system does not say.
///
/// # Errors
///
/// [`Error::Memory`].
#[inline(never)]
pub(crate) fn topology() -> Result<Topology, Error> {
    match topology_in(SYSTEM) {
        Ok(topology) => Ok(topology),
        Err(Fault::Absent) => Ok(Topology::single(cpus()?)),
        Err(Fault::Memory) => Err(Error::Memory),
    }
}

/// This machine with a node for each last-level cache, in place of each NUMA node: for
/// [`EngineBuilder::topology`](crate::EngineBuilder::topology). Where a processor has several such caches, the lock of a node
/// and its key then stay in one. The machine's NUMA nodes, if the system does not say which CPUs share a cache.
///
/// # Errors
///
/// [`Error::Memory`].
pub fn cache_topology() -> Result<Topology, Error> {
    match caches_in(SYSTEM) {
        Ok(topology) => Ok(topology),
        Err(Fault::Absent) => topology(),
        Err(Fault::Memory) => Err(Error::Memory),
    }
}

fn caches_in(folder: &str) -> Result<Topology, Fault> {
    let nodes = topology_in(folder)?;
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for cpu in list(folder, format_args!("cpu/online"))? {
        if !groups.iter().any(|group| group.binary_search(&cpu).is_ok()) {
            groups.try_reserve(1).map_err(|_| Fault::Memory)?;
            groups.push(last_cache(folder, cpu)?);
        }
    }
    Ok(nodes.divided(&groups)?)
}

/// The CPUs that share the last cache of a CPU: the kernel numbers its caches from the first level on.
fn last_cache(folder: &str, cpu: u32) -> Result<Vec<u32>, Fault> {
    let cache = |index| {
        list(
            folder,
            format_args!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"),
        )
    };
    let mut last = cache(0)?;
    for index in 1.. {
        match cache(index) {
            Ok(shared) => last = shared,
            Err(Fault::Absent) => break,
            Err(Fault::Memory) => return Err(Fault::Memory),
        }
    }
    Ok(last)
}

/// The number of CPUs that this machine can have.
///
/// # Errors
///
/// [`Error::Memory`].
pub(crate) fn cpus() -> Result<usize, Error> {
    let possible = list(SYSTEM, format_args!("cpu/possible"));
    let last = possible.and_then(|cpus| last_cpu(&cpus));
    or(last, os::cpu_count).map_err(|_| Error::Memory)
}

/// The topology that a directory in the form of `/sys/devices/system` describes.
fn topology_in(folder: &str) -> Result<Topology, Fault> {
    let numbers = list(folder, format_args!("node/online"))?;
    if let [only] = numbers[..] {
        // Most machines have one node. The first read of a process is not slowed by more files.
        let cpus = list(folder, format_args!("node/node{only}/cpulist"))?;
        return last_cpu(&cpus).map(Topology::single);
    }
    let with_memory = match list(folder, format_args!("node/has_memory")) {
        Err(Fault::Absent) => None,
        found => Some(found?),
    };
    let with_memory = with_memory.as_ref().unwrap_or(&numbers);
    let mut nodes = try_vec(numbers.len())?;
    for &number in &numbers {
        let of_node = |file| {
            let found = list(folder, format_args!("node/node{number}/{file}"));
            or(found, Vec::new)
        };
        nodes.push(SystemNode {
            number,
            cpus: of_node("cpulist")?,
            has_memory: with_memory.binary_search(&number).is_ok(),
            distances: of_node("distance")?,
        });
    }
    Ok(Topology::from_system(&nodes)?)
}

/// Text on the heap, up to its capacity.
struct Text(Vec<u8>);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let has_room = self.0.capacity() - self.0.len() >= text.len();
        has_room
            .then(|| self.0.extend_from_slice(text.as_bytes()))
            .ok_or(fmt::Error)
    }
}

/// The numbers in a file of the directory.
fn list(folder: &str, file: fmt::Arguments<'_>) -> Result<Vec<u32>, Fault> {
    const MAX_NAME_BYTES: usize = 64;
    let mut path = Text(try_vec(folder.len() + MAX_NAME_BYTES)?);
    write!(path, "{folder}/{file}").map_err(|_| Fault::Absent)?;
    // On the heap: the first read of a process runs this, perhaps on a small stack.
    let mut buffer = try_vec(MAX_FILE_BYTES)?;
    buffer.resize(MAX_FILE_BYTES, 0);
    parse_list(read_file(&path.0, &mut buffer).ok_or(Fault::Absent)?)
}

fn last_cpu(cpus: &[u32]) -> Result<usize, Fault> {
    let last = cpus.last().map(|&last| last as usize + 1);
    last.ok_or(Fault::Absent)
}

/// The kernel's two formats of lists: `0-3,8,10-11` of CPUs and nodes, `10 20 30` of distances, or nothing. Only
/// numbers that a topology can describe.
fn parse_list(text: &[u8]) -> Result<Vec<u32>, Fault> {
    let text = str::from_utf8(text).map_err(|_| Fault::Absent)?;
    let mut numbers = Vec::new();
    let ranges = text.trim_ascii_end().split([',', ' ']);
    for range in ranges.filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let parse = |number: &str| number.parse::<u32>().map_err(|_| Fault::Absent);
        let (first, last) = (parse(first)?, parse(last)?);
        if last as usize >= MAX_CPUS {
            return Err(Fault::Absent);
        }
        let range = first..=last;
        let reserved = numbers.try_reserve(range.clone().count());
        reserved.map_err(|_| Fault::Memory)?;
        numbers.extend(range);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use std::fs;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(
            parse_list(b"0-3,8,10-11\n"),
            Ok(vec![0, 1, 2, 3, 8, 10, 11])
        );
        assert_eq!(parse_list(b"\n"), Ok(vec![]));
        assert_eq!(parse_list(b"10 255 4095\n"), Ok(vec![10, 255, 4095]));
        for wrong in [
            "x",
            "1-",
            "-",
            "3-4294967296",
            "0-99999999",
            "1-2-3",
            "4096",
        ] {
            assert_eq!(parse_list(wrong.as_bytes()), Err(Fault::Absent), "{wrong}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_machine_with_a_memoryless_node_is_read_from_sysfs() {
        let folder = std::env::temp_dir().join(format!("wellspring-sysfs-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("node/online", "0-2\n");
        write("node/has_memory", "0,2\n");
        for (number, cpus, distance) in [
            (0, "0-1", "10 20 30"),
            (1, "2-3", "20 10 15"),
            (2, "4-5", "30 15 10"),
        ] {
            write(&format!("node/node{number}/cpulist"), cpus);
            write(&format!("node/node{number}/distance"), distance);
        }
        let topology = topology_in(folder.to_str().unwrap());
        fs::remove_dir_all(&folder).unwrap();
        let topology = topology.unwrap();
        let nodes: Vec<usize> = (0..6).map(|cpu| topology.node_of(cpu)).collect();
        assert_eq!(nodes, [0, 0, 1, 1, 1, 1]);
        assert_eq!(topology.system_node(1), Some(2));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_machine_with_two_caches_in_a_node_has_a_node_for_each() {
        let folder = std::env::temp_dir().join(format!("wellspring-llc-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("node/online", "0-1\n");
        write("node/node0/cpulist", "0-3\n");
        write("node/node1/cpulist", "4-5\n");
        // CPU 5 is offline and has no caches.
        write("cpu/online", "0-4\n");
        for (cpu, own, shared) in [
            (0, "0", "0,2"),
            (1, "1", "1,3"),
            (2, "2", "0,2"),
            (3, "3", "1,3"),
            (4, "4", "4"),
        ] {
            write(&format!("cpu/cpu{cpu}/cache/index0/shared_cpu_list"), own);
            write(
                &format!("cpu/cpu{cpu}/cache/index1/shared_cpu_list"),
                shared,
            );
        }
        let topology = caches_in(folder.to_str().unwrap());
        fs::remove_file(folder.join("cpu/cpu4/cache/index0/shared_cpu_list")).unwrap();
        let without = caches_in(folder.to_str().unwrap());
        fs::remove_dir_all(&folder).unwrap();
        let topology = topology.unwrap();
        let nodes: Vec<usize> = (0..6).map(|cpu| topology.node_of(cpu)).collect();
        assert_eq!(nodes, [0, 1, 0, 1, 2, 0]);
        let system = [0, 1, 2].map(|node| topology.system_node(node));
        assert_eq!(system, [Some(0), Some(0), Some(1)]);
        assert_eq!(without, Err(Fault::Absent));
    }

    #[test]
    fn this_machine_has_topologies_that_cover_its_cpus() {
        for topology in [topology, cache_topology] {
            let topology = topology().unwrap();
            assert!(topology.nodes() >= 1);
            assert!(topology.cpus() >= std::thread::available_parallelism().unwrap().get());
        }
    }
}
