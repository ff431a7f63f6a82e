//! The nodes and CPUs of this machine, from sysfs.

use wellspring_core::topology::{MAX_CPUS, SystemNode, Topology};
use wellspring_sys::os::read_file;

const SYSTEM: &str = "/sys/devices/system";

/// The nodes and CPUs of this machine, or one node if the system does not say.
#[inline(never)]
pub(crate) fn topology() -> Topology {
    topology_below(SYSTEM).unwrap_or_else(|| Topology::single(cpus()))
}

/// The number of CPUs that this machine can have.
pub(crate) fn cpus() -> usize {
    let possible = read_list(&format!("{SYSTEM}/cpu/possible"));
    possible
        .and_then(|cpus| cpus.last().map(|&last| last as usize + 1))
        .unwrap_or(1)
}

/// The topology that a directory in the form of `/sys/devices/system` describes.
fn topology_below(system: &str) -> Option<Topology> {
    let numbers = read_list(&format!("{system}/node/online"))?;
    if let [only] = numbers[..] {
        // Most machines have one node. The first read of a process is not slowed by more files.
        let cpus = read_list(&format!("{system}/node/node{only}/cpulist"))?;
        return cpus.last().map(|&last| Topology::single(last as usize + 1));
    }
    let with_memory = read_list(&format!("{system}/node/has_memory"));
    let nodes: Vec<SystemNode> = numbers
        .iter()
        .map(|&number| {
            let folder = format!("{system}/node/node{number}");
            SystemNode {
                number,
                cpus: read_list(&format!("{folder}/cpulist")).unwrap_or_default(),
                has_memory: with_memory
                    .as_ref()
                    .is_none_or(|nodes| nodes.contains(&number)),
                distances: read_text(&format!("{folder}/distance"))
                    .map(|text| {
                        text.split_whitespace()
                            .filter_map(|word| word.parse().ok())
                            .collect()
                    })
                    .unwrap_or_default(),
            }
        })
        .collect();
    Topology::from_system(&nodes).ok()
}

fn read_list(path: &str) -> Option<Vec<u32>> {
    parse_list(&read_text(path)?)
}

fn read_text(path: &str) -> Option<String> {
    // On the heap: the first read of a process runs this, perhaps on a small stack.
    let mut buffer = vec![0; 8192];
    let length = read_file(path, &mut buffer)?.len();
    buffer.truncate(length);
    String::from_utf8(buffer).ok()
}

/// The backend's list format: `0-3,8,10-11`; empty for none. Only numbers a topology can describe.
fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
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
    use std::fs;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(
            parse_list("0-3,8,10-11\n"),
            Some(vec![0, 1, 2, 3, 8, 10, 11])
        );
        assert_eq!(parse_list("\n"), Some(vec![]));
        for wrong in ["x", "1-", "-", "3-4294967296", "0-99999999"] {
            assert_eq!(parse_list(wrong), None, "{wrong}");
        }
    }

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
        let topology = topology_below(folder.to_str().unwrap());
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
