//! The nodes and CPUs of this machine, from sysfs.

use wellspring_core::topology::{MAX_CPUS, SystemNode, Topology};
use wellspring_os::os::{self, read_file};

const SYSTEM: &str = "/sys/devices/system";

/// The length of the longest file: 64 distances, or the CPUs of a machine that has every third of 4096.
const MAX_FILE_BYTES: usize = 8192;

/// The nodes and CPUs of this machine, or one node if the system does not say.
#[inline(never)]
pub(crate) fn topology() -> Topology {
    topology_in(SYSTEM).unwrap_or_else(|| Topology::single(cpus()))
}

/// The number of CPUs that this machine can have.
pub(crate) fn cpus() -> usize {
    let possible = list(SYSTEM, "cpu/possible");
    last_cpu(&possible.unwrap_or_default()).unwrap_or_else(os::cpu_count)
}

/// The topology that a directory in the form of `/sys/devices/system` describes.
fn topology_in(folder: &str) -> Option<Topology> {
    let numbers = list(folder, "node/online")?;
    if let [only] = numbers[..] {
        // Most machines have one node. The first read of a process is not slowed by more files.
        let cpus = list(folder, &format!("node/node{only}/cpulist"))?;
        return last_cpu(&cpus).map(Topology::single);
    }
    let with_memory = list(folder, "node/has_memory").unwrap_or_else(|| numbers.clone());
    let mut nodes = Vec::new();
    for &number in &numbers {
        let of_node = |file| list(folder, &format!("node/node{number}/{file}"));
        nodes.push(SystemNode {
            number,
            cpus: of_node("cpulist").unwrap_or_default(),
            has_memory: with_memory.binary_search(&number).is_ok(),
            distances: of_node("distance").unwrap_or_default(),
        });
    }
    Topology::from_system(&nodes).ok()
}

/// The numbers in a file of the directory.
fn list(folder: &str, file: &str) -> Option<Vec<u32>> {
    // On the heap: the first read of a process runs this, perhaps on a small stack.
    let mut buffer = vec![0; MAX_FILE_BYTES];
    let path = format!("{folder}/{file}");
    parse_list(read_file(path.as_bytes(), &mut buffer)?)
}

fn last_cpu(cpus: &[u32]) -> Option<usize> {
    cpus.last().map(|&last| last as usize + 1)
}

/// The kernel's two formats of lists: `0-3,8,10-11` of CPUs and nodes, `10 20 30` of distances; empty for none. Only
/// numbers that a topology can describe.
fn parse_list(text: &[u8]) -> Option<Vec<u32>> {
    let text = str::from_utf8(text).ok()?.trim_ascii_end();
    let mut numbers = Vec::new();
    for range in text.split([',', ' ']).filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last as usize >= MAX_CPUS {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
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
            Some(vec![0, 1, 2, 3, 8, 10, 11])
        );
        assert_eq!(parse_list(b"\n"), Some(vec![]));
        assert_eq!(parse_list(b"10 255 4095\n"), Some(vec![10, 255, 4095]));
        for wrong in [
            "x",
            "1-",
            "-",
            "3-4294967296",
            "0-99999999",
            "1-2-3",
            "4096",
        ] {
            assert_eq!(parse_list(wrong.as_bytes()), None, "{wrong}");
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

    #[test]
    fn this_machine_has_a_topology_that_covers_its_cpus() {
        let topology = topology();
        assert!(topology.nodes() >= 1);
        assert!(topology.cpus() >= std::thread::available_parallelism().unwrap().get());
    }
}
