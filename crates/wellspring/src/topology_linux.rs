//! The nodes and CPUs of this machine, from sysfs.

use wellspring_core::topology::{MAX_CPUS, SystemNode, Topology};
use wellspring_sys::os::read_file;

const SYSTEM: &str = "/sys/devices/system";

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
    let possible = Sysfs::new(SYSTEM).list("/cpu/possible", None, "");
    last_cpu(&possible.unwrap_or_default()).unwrap_or(1)
}

/// A directory in the form of `/sys/devices/system`. Without `format!` and without text as `str`: every program that
/// draws a number is linked with this.
struct Sysfs<'a> {
    folder: &'a str,
    /// On the heap: the first read of a process runs this, perhaps on a small stack.
    buffer: Vec<u8>,
}

impl<'a> Sysfs<'a> {
    fn new(folder: &'a str) -> Self {
        Self {
            folder,
            buffer: vec![0; MAX_FILE_BYTES],
        }
    }

    /// The topology that the directory describes.
    fn topology(mut self) -> Option<Topology> {
        let numbers = self.list("/node/online", None, "")?;
        if let [only] = numbers[..] {
            // Most machines have one node. The first read of a process is not slowed by more files.
            return last_cpu(&self.list("/node/node", Some(only), "/cpulist")?)
                .map(Topology::single);
        }
        let with_memory = self.list("/node/has_memory", None, "");
        let mut nodes = Vec::new();
        for number in numbers {
            let has_memory = with_memory
                .as_ref()
                .is_none_or(|nodes| nodes.contains(&number));
            let mut list = |rest| {
                self.list("/node/node", Some(number), rest)
                    .unwrap_or_default()
            };
            nodes.push(SystemNode {
                number,
                cpus: list("/cpulist"),
                has_memory,
                distances: list("/distance"),
            });
        }
        Topology::from_system(&nodes).ok()
    }

    /// The numbers in a file of the directory. Its name has a number in it if `number` is some.
    #[inline(never)]
    fn list(&mut self, name: &str, number: Option<u32>, rest: &str) -> Option<Vec<u32>> {
        let mut path = String::with_capacity(128);
        path.push_str(self.folder);
        path.push_str(name);
        if let Some(number) = number {
            push_decimal(&mut path, number);
        }
        path.push_str(rest);
        parse_list(read_file(&path, &mut self.buffer)?)
    }
}

fn last_cpu(cpus: &[u32]) -> Option<usize> {
    cpus.last().map(|&last| last as usize + 1)
}

fn push_decimal(text: &mut String, number: u32) {
    if number >= 10 {
        push_decimal(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

/// The kernel's two formats of lists: `0-3,8,10-11` of CPUs and nodes, `10 20 30` of distances; empty for none. Only
/// numbers that a topology can describe.
fn parse_list(text: &[u8]) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    // The number that is being read, and the first of its range.
    let (mut number, mut first) = (None, None);
    let text = text.trim_ascii_end();
    for at in 0..=text.len() {
        match text.get(at).unwrap_or(&b',') {
            digit @ b'0'..=b'9' => {
                let more = number.unwrap_or(0) * 10 + u32::from(digit - b'0');
                number = Some(more).filter(|&more| (more as usize) < MAX_CPUS);
                number?;
            }
            b'-' if first.is_none() => {
                first = number.take();
                first?;
            }
            b',' | b' ' => match number.take() {
                Some(last) => (first.take().unwrap_or(last)..=last).for_each(|n| numbers.push(n)),
                None if first.is_some() => return None,
                None => {}
            },
            _ => return None,
        }
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
        let topology = Sysfs::new(folder.to_str().unwrap()).topology();
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
