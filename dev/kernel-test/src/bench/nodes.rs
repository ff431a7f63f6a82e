//! Readers on the CPUs of 1 to 4 NUMA nodes, as will-it-scale has them: one for each CPU, small reads.

use super::modes::{ModeGuard, Subject};
use super::pace::Pace;
use super::readers::{LocksPerRead, Samples, sample};
use crate::open::Failure;
use std::fs;

/// The most nodes, as published.
const MOST_NODES: usize = 4;

/// The bytes of a read: a key.
const READ_BYTES: usize = 32;

/// Readers on the CPUs of so many nodes.
pub(super) struct Row {
    pub(super) nodes: usize,
    pub(super) readers: usize,
    /// For each subject the reads of all readers in a second, and what they did to locks.
    pub(super) cells: Vec<(f64, Option<LocksPerRead>)>,
}

/// Measures 1 to 4 nodes, or as many as there are.
pub(super) fn measure(pace: Pace, mode: &ModeGuard) -> Result<Vec<Row>, Failure> {
    let nodes = cpus_of_nodes();
    let groups: Vec<Vec<Option<usize>>> = (1..=nodes.len().min(MOST_NODES))
        .map(|count| nodes[..count].concat().into_iter().map(Some).collect())
        .collect();
    let mut samples = vec![vec![Samples::default(); Subject::ALL.len()]; groups.len()];
    for _ in 0..pace.rounds {
        for (cpus, row) in groups.iter().zip(&mut samples) {
            for (&subject, case) in Subject::ALL.iter().zip(row) {
                sample(subject, cpus, READ_BYTES, pace.slice, mode, case)?;
            }
        }
    }
    let rows = groups.iter().zip(samples).zip(1..);
    let rows = rows.map(|((cpus, samples), nodes)| Row {
        nodes,
        readers: cpus.len(),
        cells: samples
            .iter()
            .map(|samples| {
                let cell = samples.cell();
                let reads = cell.each_mb_s * 1e6 / READ_BYTES as f64 * cpus.len() as f64;
                (reads, cell.locks)
            })
            .collect(),
    });
    Ok(rows.collect())
}

/// The CPUs of each node that has some. One node where the system names none.
fn cpus_of_nodes() -> Vec<Vec<usize>> {
    let list = |path: String| fs::read_to_string(path).ok().and_then(|text| parse(&text));
    let nodes = list("/sys/devices/system/node/online".into()).unwrap_or_default();
    let cpus = nodes
        .into_iter()
        .filter_map(|node| list(format!("/sys/devices/system/node/node{node}/cpulist")));
    let with_cpus: Vec<Vec<usize>> = cpus.filter(|cpus| !cpus.is_empty()).collect();
    if !with_cpus.is_empty() {
        return with_cpus;
    }
    list("/sys/devices/system/cpu/online".into())
        .into_iter()
        .collect()
}

/// A list as Linux writes it: `0-3,8`.
fn parse(list: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_ranges_and_may_be_empty() {
        assert_eq!(parse("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse("\n"), Some(vec![]));
        assert_eq!(parse("x"), None);
        assert!(!cpus_of_nodes().is_empty());
    }
}
