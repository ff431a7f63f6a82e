//! Rules that look at one line.

use super::fault::{Fault, is_data};

/// The longest line of a text or source, in characters.
const MAX_COLUMNS: usize = 130;

/// Marks of work that is left for later. Split, so that this file has none.
const MARKS: [&str; 8] = [
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("dbg", "!("),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
    concat!("not yet ", "implemented"),
];

/// Folders that exist on one machine only. Split, so that this file has none.
const LOCAL: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

/// Checks a file.
pub(super) fn check(path: &str, text: &str, faults: &mut Vec<Fault>) {
    if is_data(path) {
        return;
    }
    for (number, line) in (1..).zip(text.lines()) {
        let mut fault = |note: &str| faults.push(Fault::new(path, number, note));
        let may_be_long = path.ends_with(".toml") || line.starts_with('|');
        if line.chars().count() > MAX_COLUMNS && !may_be_long {
            fault("more than 130 characters");
        }
        if line.ends_with([' ', '\t']) {
            fault("white space at the end");
        }
        if MARKS.iter().any(|mark| has_mark(line, mark)) {
            fault("work that is left for later");
        }
        if LOCAL.iter().any(|folder| line.contains(folder)) {
            fault("a path that exists on one machine only");
        }
    }
}

/// Whether the line has this mark, and not as a part of a longer word such as a template for temporary files.
fn has_mark(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(start, _)| {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_part(line[..start].chars().next_back())
            && (mark.ends_with('(') || !is_part(line[start + mark.len()..].chars().next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(path: &str, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        check(path, text, &mut faults);
        faults.into_iter().map(|fault| fault.note).collect()
    }

    #[test]
    fn a_good_file_passes() {
        assert_eq!(notes("engine/core/src/x.rs", "fn good() {}\n"), [""; 0]);
    }

    #[test]
    fn long_lines_and_white_space_are_found() {
        assert_eq!(notes("README.md", "white \n"), ["white space at the end"]);
        let long = "x".repeat(MAX_COLUMNS + 1);
        assert_eq!(notes("README.md", &long), ["more than 130 characters"]);
        assert_eq!(notes("README.md", &format!("|{long}")), [""; 0]);
    }

    #[test]
    fn every_mark_of_later_work_is_found_in_every_language() {
        for mark in MARKS {
            for path in ["src/x.rs", "kernel/x.c", "x.md", "vectors/x.py"] {
                assert_eq!(
                    notes(path, &format!("  {mark} x)\n")),
                    ["work that is left for later"],
                    "{mark}"
                );
            }
        }
        let template = format!("mktemp {}{}\n", MARKS[5], MARKS[5]);
        assert_eq!(notes(".ci/run", &template), [""; 0]);
    }

    #[test]
    fn every_local_path_is_found() {
        for folder in LOCAL {
            assert_eq!(
                notes("x.md", &format!("see {folder}x\n")),
                ["a path that exists on one machine only"]
            );
        }
    }
}
