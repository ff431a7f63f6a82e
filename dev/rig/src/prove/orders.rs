//! herd7 goes through all executions that Linux' memory model allows a litmus test of `proofs/orders/`.
//!
//! The tests are written by hand from the code. What ties them: the comment at each barrier of the module names its test.

use super::edits::{Edit, parse};
use super::{Job, Tools, answer, jobs_of, read, write};
use crate::guest::{Result, at, failed};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The barriers of the module that need a test.
const BARRIERS: [&str; 5] = [
    "smp_load_acquire(",
    "smp_store_release(",
    "atomic64_read_acquire(",
    "atomic64_inc_return(",
    "synchronize_rcu(",
];

/// The lines above a barrier in which its comment is.
const ABOVE: usize = 6;

/// All tests and mutants. An error if a barrier names no test, or a test has no barrier.
pub(super) fn jobs(root: &Path) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    let tests = texts(&root.join("proofs/orders"), &[".litmus"])?;
    tie(&texts(&root.join("kernel"), &[".c", ".h"])?, &tests)?;
    for (file, test) in tests {
        let short = file.trim_end_matches(".litmus");
        let mutants = parse(&read(&root.join(format!("proofs/orders/{short}.mutants")))?)?;
        let name = format!("P5 {short}");
        let test = Test(test);
        let parts = vec![(name.clone(), test.clone())];
        jobs.extend(jobs_of(parts, (&name, test), mutants, observe)?);
    }
    Ok(jobs)
}

/// The files of a folder whose names have one of these ends.
fn texts(folder: &Path, ends: &[&str]) -> Result<BTreeMap<String, String>> {
    let entries = fs::read_dir(folder).map_err(at(folder.display()))?;
    let names = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| ends.iter().any(|end| name.ends_with(end)))
        .map(|name| Ok((name.clone(), read(&folder.join(&name))?)))
        .collect()
}

/// Each barrier has a comment that names a test, each name is one of a test, and each test is named at both sides.
fn tie(code: &BTreeMap<String, String>, tests: &BTreeMap<String, String>) -> Result {
    let mut named: BTreeMap<&str, usize> = tests.keys().map(|name| (name.as_str(), 0)).collect();
    for (file, text) in code {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            for word in line.split([' ', ',', '(', ')', '\t']) {
                let name = word.trim_end_matches(['.', ':', ';']);
                if name.ends_with(".litmus") {
                    match named.get_mut(name) {
                        Some(count) => *count += 1,
                        None => return failed(format!("{file}:{}: no test {name}", index + 1)),
                    }
                }
            }
            let above = &lines[index.saturating_sub(ABOVE)..index];
            if BARRIERS.iter().any(|barrier| line.contains(barrier))
                && !above.iter().any(|line| line.contains(".litmus"))
            {
                return failed(format!("{file}:{}: a barrier without a test", index + 1));
            }
        }
    }
    match named.iter().find(|(_, count)| **count < 2) {
        Some((name, count)) => failed(format!("{name}: {count} comments name it, not two")),
        None => Ok(()),
    }
}

#[derive(Clone)]
struct Test(String);

/// The bad outcome of a test must not exist, and the one of a mutant must.
fn observe(Test(test): &Test, tools: &Tools, name: &str, mutant: Option<&Edit>) -> Result<String> {
    let folder = tools.folder(name)?;
    let (test, expected, note) = match mutant {
        Some(mutant) => (mutant.apply(test)?, "Sometimes", "possible"),
        None => (test.clone(), "Never", "impossible"),
    };
    let file = folder.join("test.litmus");
    write(&file, &test)?;
    let file = file.to_string_lossy();
    let words = ["-conf", "linux-kernel.cfg", &file];
    let (_, text) = answer(&tools.sid, "herd7", &words, &tools.memory_model)?;
    // A word that herd7 does not know is only a warning there, and then it observes nothing.
    let mut observed = text
        .lines()
        .filter_map(|line| line.strip_prefix("Observation "));
    if observed.next().and_then(|line| line.split(' ').nth(1)) == Some(expected) {
        return Ok(format!("the bad outcome is {note}"));
    }
    failed(format!("not {expected}:\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_at_each_barrier_names_its_test() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .unwrap();
        assert_eq!(jobs(root).map(|jobs| jobs.len() >= 21), Ok(true));
    }

    #[test]
    fn a_barrier_without_a_test_and_a_test_without_barriers_are_found() {
        let files = |text: &str| BTreeMap::from([("a.c".to_owned(), text.to_owned())]);
        let tests = BTreeMap::from([("b.litmus".to_owned(), String::new())]);
        let pair = "/* Pairs with f(): b.litmus. */\nsmp_store_release(a, 1);\n";
        assert_eq!(tie(&files(&pair.repeat(2)), &tests), Ok(()));
        assert!(tie(&files(pair), &tests).is_err());
        assert!(tie(&files(&pair.repeat(2).replace("b.l", "c.l")), &tests).is_err());
        let bare = format!("smp_load_acquire(a);\n{}", pair.repeat(2));
        assert!(tie(&files(&bare), &tests).is_err());
    }
}
