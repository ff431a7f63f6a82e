//! `docs/explanation/threat-model.md` names a test for each threat, by its function. Each test that the documents name exists.

use super::fault::Fault;
use std::collections::{BTreeMap, BTreeSet};

const MODEL: &str = "docs/explanation/threat-model.md";

/// Other documents that name tests by their functions.
const OTHERS: [&str; 2] = [
    "docs/explanation/compliance.md",
    "docs/explanation/states.md",
];

/// Names of tests are sentences.
const LEAST_WORDS: usize = 5;

/// Checks the documents. `files` are all files of the repository.
pub(super) fn check(files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
    let tests = tests(files);
    for path in OTHERS.into_iter().chain([MODEL]) {
        let lines = (1..).zip(files.get(path).map_or("", String::as_str).lines());
        for (number, line) in lines {
            let mut fault = |note: String| faults.push(Fault::new(path, number, note));
            let named: Vec<&str> = named(line).collect();
            for name in named.iter().filter(|name| !tests.contains(*name)) {
                fault(format!("there is no test {name}"));
            }
            if path == MODEL && line.starts_with("| **") && named.is_empty() {
                fault("a threat without a test".into());
            }
        }
    }
}

/// The functions that follow `#[test]`.
fn tests(files: &BTreeMap<String, String>) -> BTreeSet<&str> {
    let sources = files.iter().filter(|(path, _)| path.ends_with(".rs"));
    let parts = sources.flat_map(|(_, text)| text.split("#[test]\n").skip(1));
    let names = parts.filter_map(|part| {
        let (_, rest) = part.split_once("fn ")?;
        rest.split('(').next()
    });
    names.collect()
}

/// The names of functions of a line that are sentences, in backticks.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|word| {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        word.chars().all(is_name) && word.split('_').count() >= LEAST_WORDS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(row: &str) -> Vec<String> {
        let files = [
            (MODEL, row),
            (
                "a.rs",
                "#[test]\n#[cfg(unix)]\nfn a_child_reads_other_bytes() {}\nfn a_helper_of_no_test_at_all() {}\n",
            ),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let mut faults = Vec::new();
        check(&files.into(), &mut faults);
        faults.into_iter().map(|fault| fault.note).collect()
    }

    #[test]
    fn a_threat_with_a_test_that_exists_passes() {
        let row = "| **A.** | `try_fill` | `a_child_reads_other_bytes`, `cargo xtask rig` |";
        assert_eq!(notes(row), [""; 0]);
    }

    #[test]
    fn a_threat_without_a_test_and_a_test_that_does_not_exist_are_found() {
        assert_eq!(notes("| **A.** | b | none |"), ["a threat without a test"]);
        for name in ["a_test_that_is_not_there", "a_helper_of_no_test_at_all"] {
            let row = format!("| **A.** | b | `{name}` |");
            assert_eq!(notes(&row), [format!("there is no test {name}")]);
        }
    }
}
