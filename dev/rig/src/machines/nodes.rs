//! Secrets in their node's memory, and readers served by their node: as the kernel sees it from outside.

use crate::guest::{Guest, MachineSetup, Result, failed};
use std::collections::BTreeMap;
use std::path::Path;

const NODES: usize = 4;
pub(super) const CPUS: usize = 8;

/// Starts a reader on the CPUs of a mask, which answers once, and shows how its memory is mapped.
const MAPS: &str = "rm -f /tmp/asks /tmp/answers; mkfifo /tmp/asks /tmp/answers && \
    { taskset MASK wellspring bytes 64 --hex --each-line </tmp/asks >/tmp/answers & } && \
    exec 3>/tmp/asks 4</tmp/answers && echo >&3 && read -r answer <&4 && \
    cat /proc/$!/smaps && echo =policies && cat /proc/$!/numa_maps; exec 3>&- 4<&-; wait";

/// The NUMA nodes of a process's secrets.
#[derive(Debug, Default, PartialEq, Eq)]
struct Placement {
    /// Pages that were asked for on a node: generators, mailboxes, queues, pools. By that node.
    asked_for: BTreeMap<usize, usize>,
    /// Pages that come from where their thread runs: taps. By the node they are on.
    taps: BTreeMap<usize, usize>,
    /// Pages that are on another node than asked for.
    astray: usize,
}

/// Every node's secrets are in its memory, and every reader's tap is in its node's.
pub(crate) fn memory(setup: &MachineSetup, kernel: &Path) -> Result<String> {
    let mut guest = setup.qemu.start(&setup.vm(kernel, NODES, setup.cpus))?;
    let mut says = Vec::new();
    for cpu in (1..setup.cpus).step_by(2) {
        let node = cpu * NODES / setup.cpus;
        let maps = guest.must(&MAPS.replace("MASK", &format!("{:x}", 1 << cpu)))?;
        let placement = placement(&maps);
        let on_their_nodes = (0..NODES).all(|node| placement.asked_for.contains_key(&node));
        let tap_is_here = placement.taps.keys().eq([&node]);
        if placement.astray > 0 || !on_their_nodes || !tap_is_here {
            return failed(format!("a reader on CPU {cpu}, node {node}: {placement:?}"));
        }
        let pages: Vec<String> = placement.asked_for.values().map(usize::to_string).collect();
        says.push(format!("{}+{}", pages.join("/"), placement.taps[&node]));
    }
    guest.end()?;
    Ok(format!(
        "pages of nodes 0/1/2/3 + of the reader's tap on its node, readers on each: {}",
        says.join(", ")
    ))
}

/// A process's first key comes from the node of its CPU, and from no other.
pub(super) fn readers(setup: &MachineSetup, kernel: &Path) -> Result<String> {
    let mut guest = setup.qemu.start(&setup.vm(kernel, NODES, CPUS))?;
    let mut says = Vec::new();
    for cpu in 0..CPUS {
        let stats = guest.must(&format!("taskset {:x} wellspring stats --json", 1 << cpu))?;
        let fetches = fetches(&stats);
        let node = cpu * NODES / CPUS;
        let expected: Vec<u64> = (0..NODES).map(|other| u64::from(other == node)).collect();
        if fetches != expected {
            return failed(format!(
                "a reader on CPU {cpu}, node {node}, fetched {fetches:?} from nodes 0 to 3"
            ));
        }
        says.push(node.to_string());
    }
    phases_and_shares(&mut guest)?;
    guest.end()?;
    Ok(format!(
        "CPUs 0 to 7 by nodes {}; all by node 0 before 128 bits; an order reseeds all",
        says.join(" ")
    ))
}

/// The command's self-tests of both, on this machine's nodes.
fn phases_and_shares(guest: &mut Guest) -> Result {
    guest.must("wellspring check --only nodes").map(drop)
}

/// Reads smaps and numa_maps of a process. Secrets are in the mappings that a fork wipes.
fn placement(maps: &str) -> Placement {
    let (smaps, policies) = maps.split_once("=policies").unwrap_or_default();
    let mut secret = Vec::new();
    let mut start = "";
    for line in smaps.lines() {
        let first = line.split([' ', '-']).next().unwrap_or_default();
        match line.strip_prefix("VmFlags:") {
            Some(flags) if flags.split_whitespace().any(|flag| flag == "wf") => secret.push(start),
            None if !first.ends_with(':') => start = first,
            _ => {}
        }
    }
    let mut placement = Placement::default();
    for line in policies.lines() {
        let mut words = line.split_whitespace();
        if !words.next().is_some_and(|start| secret.contains(&start)) {
            continue;
        }
        let policy = words.next().unwrap_or_default();
        let asked_for = policy
            .strip_prefix("prefer:")
            .and_then(|node| node.parse::<usize>().ok());
        for word in words {
            let pages = word.strip_prefix('N').and_then(|word| word.split_once('='));
            let pages = pages
                .and_then(|(node, pages)| Some((node.parse().ok()?, pages.parse::<usize>().ok()?)));
            let Some((node, pages)) = pages else { continue };
            match asked_for {
                Some(asked_for) if asked_for != node => placement.astray += pages,
                Some(_) => *placement.asked_for.entry(node).or_default() += pages,
                None => *placement.taps.entry(node).or_default() += pages,
            }
        }
    }
    placement
}

/// The fetches of each node, in what `stats --json` prints.
fn fetches(json: &str) -> Vec<u64> {
    let after = json.split("\"fetches\": ").skip(1);
    after
        .filter_map(|rest| {
            rest.split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
Size:                  4 kB
VmFlags: rd wr mr mw me lo ac wf dd
7f0000002000-7f0000082000 rw-p 00000000 00:00 0
VmFlags: rd wr mr mw me lo ac wf dd
7f0000090000-7f0000091000 rw-p 00000000 00:00 0
VmFlags: rd wr mr mw me ac
=policies
7f0000000000 prefer:1 anon=1 dirty=1 N1=1 kernelpagesize_kB=4
7f0000002000 default anon=2 dirty=2 N3=2 kernelpagesize_kB=4
7f0000090000 default anon=1 dirty=1 N0=1 kernelpagesize_kB=4
";

    #[test]
    fn secrets_are_told_from_other_memory_and_taps_from_what_was_asked_for() {
        let expected = Placement {
            asked_for: [(1, 1)].into(),
            taps: [(3, 2)].into(),
            astray: 0,
        };
        assert_eq!(placement(MAPS), expected);
        let astray = placement(&MAPS.replace("N1=1", "N0=1"));
        assert_eq!((astray.astray, astray.asked_for.len()), (1, 0));
    }

    #[test]
    fn the_fetches_of_all_nodes_are_read_in_their_order() {
        let json = r#"{"nodes": [{"reseeds": 1, "fetches": 10, "credit_bits": 3}, {"reseeds": 1, "fetches": 0}]}"#;
        assert_eq!(fetches(json), [10, 0]);
    }
}
