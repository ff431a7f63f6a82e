//! The CPUs of each NUMA node.

use std::fs;

/// The CPUs of each node that has some. One node where the system names none.
pub(super) fn cpus_of_nodes() -> Vec<Vec<usize>> {
    let list = |path: String| fs::read_to_string(path).ok().and_then(|text| parse(&text));
    let nodes = list("/sys/devices/system/node/online".into()).unwrap_or_default();
    let cpus = nodes
        .into_iter()
        .filter_map(|node| list(format!("/sys/devices/system/node/node{node}/cpulist")));
    let with_cpus: Vec<Vec<usize>> = cpus.filter(|cpus| !cpus.is_empty()).collect();
    if !with_cpus.is_empty() {
        return with_cpus;
    }
    let all = list("/sys/devices/system/cpu/online".into());
    all.into_iter().collect()
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
