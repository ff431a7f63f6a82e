//! Readers on the CPUs of more and more nodes, as will-it-scale has them: one reader on each CPU.
//!
//! `report` is for people who have a machine with several nodes: a description of the machine and of the module, and the tables,
//! in one text. It needs no module but wellspring.ko.

use super::readers::{self, Cell, Group, ModeGuard, Pace, SUBJECTS};
use super::{line, locks, table};
use crate::test::{DEVICE, Failure, open_device};
use std::fs;
use wellspring_bench::figures::digits;

/// The bytes of a read: a key, and a page.
const KEY_BYTES: usize = 32;
const PAGE_BYTES: usize = 4096;

/// Up to here each number of nodes has a row, as published; then twice as many, and all.
const EACH: usize = 4;

/// The machine, the module, and two tables.
pub(super) fn report(pace: Pace) -> Result<String, Failure> {
    open_device(DEVICE, "wellspring")?;
    let mode = ModeGuard::new()?;
    let (name, places) = if parameter("topology") == "llc" {
        ("caches", cpus_of_caches())
    } else {
        ("nodes", cpus_of_nodes())
    };
    let keys = scaled(name, &places, KEY_BYTES, pace, &mode)?;
    let pages = scaled(name, &places, PAGE_BYTES, pace, &mode)?;
    // The table of the module's nodes last, as the readers leave it.
    let nodes = text("/sys/kernel/debug/wellspring/nodes");
    Ok(format!("{}\n{keys}{pages}{nodes}\n", setting()))
}

/// Reads of a key on the CPUs of 1 to 4 NUMA nodes.
pub(super) fn short_reads(pace: Pace, mode: &ModeGuard) -> Result<String, Failure> {
    let cpus = cpus_of_nodes();
    scaled(
        "nodes",
        &cpus[..cpus.len().min(EACH)],
        KEY_BYTES,
        pace,
        mode,
    )
}

/// A table of reads of this size on the CPUs of one place, of two, and so on. A place is a NUMA node, or a cache.
fn scaled(
    name: &str,
    places: &[Vec<usize>],
    bytes: usize,
    pace: Pace,
    mode: &ModeGuard,
) -> Result<String, Failure> {
    let counts = counts(places.len());
    let group = |&count: &usize| places[..count].concat().into_iter().map(Some).collect();
    let groups: Vec<Group> = counts.iter().map(group).collect();
    let rows = readers::measure(&groups, bytes, pace, mode)?;
    let mut lines = Vec::new();
    for ((count, row), group) in counts.iter().zip(&rows).zip(&groups) {
        let mut line = vec![format!("{count} ({} CPUs)", group.len())];
        for (cell, first) in row.iter().zip(&rows[0]) {
            let all_per_s = cell.each_per_s() * group.len() as f64;
            let on_one = first.each_per_s() * groups[0].len() as f64;
            line.push(format!(
                "{:.2} ({})",
                all_per_s / on_one,
                digits(all_per_s / 1e3)
            ));
        }
        lines.push(line);
    }
    for (count, row) in counts.iter().zip(&rows) {
        lines.push(line(format!("{count}, locks"), row, locks));
    }
    for (count, row) in counts.iter().zip(&rows) {
        lines.push(line(format!("{count}, waits in us"), row, waits));
    }
    Ok(table(
        &format!(
            "reads of {bytes} bytes by a reader on each CPU, times those on one of the {name} (in brackets: thousands a second); \
             locks of nodes in 1000 reads (in brackets: not free); waits for them in 1000 reads"
        ),
        &[&[name], &SUBJECTS[..]].concat(),
        lines,
        "will-it-scale published for 1 to 4 nodes 1, 0.75, 0.55, 0.42 with one lock, and 1, 2, 2.4, 3 without.",
    ))
}

fn waits(cell: &Cell) -> String {
    cell.wait_us_of_1000_reads().map_or("-".into(), digits)
}

/// How many places have readers, row by row.
fn counts(places: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = (1..=places.min(EACH)).collect();
    let mut next = 2 * EACH;
    while next < places {
        counts.push(next);
        next *= 2;
    }
    if places > EACH {
        counts.push(places);
    }
    counts
}

// ---- the machine ----
// As the kernel describes it in files.

/// A line for each thing that the figures depend on.
fn setting() -> String {
    let cpu = text("/proc/cpuinfo");
    let model = cpu.lines().find(|line| line.starts_with("model name"));
    let mut lines = vec![
        format!("Linux {}", text("/proc/sys/kernel/osrelease")),
        model.unwrap_or("model name not shown").to_owned(),
        format!("CPUs {}", text("/sys/devices/system/cpu/online")),
    ];
    for node in list("/sys/devices/system/node/online") {
        let of = |file: &str| text(&format!("/sys/devices/system/node/node{node}/{file}"));
        let memory = of("meminfo");
        let total = memory.lines().find(|line| line.contains("MemTotal"));
        lines.push(format!(
            "NUMA node {node}: CPUs {}; distances {}; {}",
            of("cpulist"),
            of("distance"),
            total.unwrap_or_default().trim()
        ));
    }
    let caches: Vec<String> = cpus_of_caches().iter().map(|cpus| range(cpus)).collect();
    lines.push(format!("last-level caches of CPUs {}", caches.join("; ")));
    lines.push(format!(
        "wellspring {}, topology {}",
        text("/sys/module/wellspring/version"),
        parameter("topology")
    ));
    lines.push(text("/sys/kernel/debug/wellspring/state"));
    lines.join("\n") + "\n"
}

fn parameter(name: &str) -> String {
    text(&format!("/sys/module/wellspring/parameters/{name}"))
}

/// A file without the end of its last line, or nothing where it cannot be read.
fn text(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.trim_end().to_owned()
}

fn list(path: &str) -> Vec<usize> {
    parse_list(&text(path)).unwrap_or_default()
}

/// The CPUs of each node that has some. One node where the system names none.
pub(super) fn cpus_of_nodes() -> Vec<Vec<usize>> {
    let nodes = list("/sys/devices/system/node/online");
    let cpus = nodes
        .into_iter()
        .map(|node| list(&format!("/sys/devices/system/node/node{node}/cpulist")));
    let with_cpus: Vec<Vec<usize>> = cpus.filter(|cpus| !cpus.is_empty()).collect();
    if with_cpus.is_empty() {
        return vec![list("/sys/devices/system/cpu/online")];
    }
    with_cpus
}

/// The CPUs of each last-level cache: of the one with the highest number that a CPU has.
fn cpus_of_caches() -> Vec<Vec<usize>> {
    let mut caches: Vec<Vec<usize>> = Vec::new();
    for cpu in list("/sys/devices/system/cpu/online") {
        let of = |index| {
            list(&format!(
                "/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"
            ))
        };
        let shared = (0..8).rev().map(of).find(|cpus| !cpus.is_empty());
        let cpus = shared.unwrap_or_else(|| vec![cpu]);
        if !caches.contains(&cpus) {
            caches.push(cpus);
        }
    }
    caches
}

/// A list as Linux writes it: `0-3,8`.
fn parse_list(list: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// The reverse.
fn range(numbers: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for run in numbers.chunk_by(|one, next| one + 1 == *next) {
        parts.push(match run {
            [first, .., last] => format!("{first}-{last}"),
            _ => run[0].to_string(),
        });
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_ranges_and_may_be_empty() {
        assert_eq!(parse_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(range(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(parse_list("\n"), Some(vec![]));
        assert_eq!(parse_list("x"), None);
        assert!(!cpus_of_nodes().concat().is_empty());
    }

    #[test]
    fn each_number_of_nodes_up_to_four_has_a_row_and_so_have_all_nodes() {
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(4), [1, 2, 3, 4]);
        assert_eq!(counts(5), [1, 2, 3, 4, 5]);
        assert_eq!(counts(16), [1, 2, 3, 4, 8, 16]);
        assert_eq!(counts(24), [1, 2, 3, 4, 8, 16, 24]);
    }

    #[test]
    fn each_cpu_is_in_one_cache_and_the_setting_names_them() {
        let mut cpus = cpus_of_caches().concat();
        cpus.sort_unstable();
        assert_eq!(cpus, list("/sys/devices/system/cpu/online"));
        let setting = setting();
        assert!(setting.contains("last-level caches of CPUs 0"), "{setting}");
    }
}
