//! The nodes and CPUs of this machine, from sysfs.

use wellspring_core::topology::{MAX_CPUS, SystemNode, Topology};
use wellspring_os::os::{read_file, take_number};

const SYSTEM: &[u8] = b"/sys/devices/system";

/// The length of the longest file: 64 distances, or the CPUs of a machine that has every third of 4096.
const MAX_FILE_BYTES: usize = 8192;

/// The nodes and CPUs of this machine, or one node if the system does not say.
#[inline(never)]
pub(crate) fn topology() -> Topology {
    Sysfs::new(SYSTEM)
        .topology()
        .unwrap_or_else(|| Topology::single(cpus()))
}

/// The number of CPUs that this machine can have.
pub(crate) fn cpus() -> usize {
    let possible = Sysfs::new(SYSTEM).list(b"/cpu/possible", 0);
    last_cpu(&possible.unwrap_or_default()).unwrap_or(1)
}

/// A directory in the form of `/sys/devices/system`.
struct Sysfs<'a> {
    folder: &'a [u8],
    /// On the heap: the first read of a process runs this, perhaps on a small stack.
    buffer: Vec<u8>,
}

impl<'a> Sysfs<'a> {
    fn new(folder: &'a [u8]) -> Self {
        Self {
            folder,
            buffer: vec![0; MAX_FILE_BYTES],
        }
    }

    /// The topology that the directory describes.
    fn topology(mut self) -> Option<Topology> {
        let numbers = self.list(b"/node/online", 0)?;
        if let [only] = numbers[..] {
            // Most machines have one node. The first read of a process is not slowed by more files.
            let cpus = self.list(b"/node/node#/cpulist", only)?;
            return last_cpu(&cpus).map(Topology::single);
        }
        let with_memory = self
            .list(b"/node/has_memory", 0)
            .unwrap_or_else(|| numbers.clone());
        let mut nodes = Vec::new();
        for &number in &numbers {
            nodes.push(SystemNode {
                number,
                cpus: self
                    .list(b"/node/node#/cpulist", number)
                    .unwrap_or_default(),
                has_memory: with_memory.binary_search(&number).is_ok(),
                distances: self
                    .list(b"/node/node#/distance", number)
                    .unwrap_or_default(),
            });
        }
        Topology::from_system(&nodes).ok()
    }

    /// The numbers in a file of the directory. In the name of the file `number` takes the place of `#`.
    #[inline(never)]
    fn list(&mut self, file: &[u8], number: u32) -> Option<Vec<u32>> {
        let mut path = Vec::from(self.folder);
        for &byte in file {
            match byte {
                b'#' => push_decimal(&mut path, number),
                _ => path.push(byte),
            }
        }
        parse_list(read_file(&path, &mut self.buffer)?)
    }
}

fn push_decimal(text: &mut Vec<u8>, number: u32) {
    if number >= 10 {
        push_decimal(text, number / 10);
    }
    text.push(b'0' + (number % 10) as u8);
}

fn last_cpu(cpus: &[u32]) -> Option<usize> {
    cpus.last().map(|&last| last as usize + 1)
}

/// The kernel's two formats of lists: `0-3,8,10-11` of CPUs and nodes, `10 20 30` of distances; empty for none. Only
/// numbers that a topology can describe.
fn parse_list(text: &[u8]) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    let mut rest = text.trim_ascii_end();
    while !rest.is_empty() {
        let mut number = take_number(&mut rest)?;
        let mut last = number;
        if let Some(after) = rest.strip_prefix(b"-") {
            rest = after;
            last = take_number(&mut rest)?;
        }
        if last as usize >= MAX_CPUS {
            return None;
        }
        while number <= last {
            numbers.push(number);
            number += 1;
        }
        match rest.split_first() {
            Some((b',' | b' ', after)) => rest = after,
            Some(_) => return None,
            None => {}
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

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
        let topology = Sysfs::new(folder.as_os_str().as_bytes()).topology();
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
