//! `tidy`: the house rules that a program can check.
//!
//! ```text
//! words   plain words: no old-fashioned turns
//! claims  each promise of SECURITY.md and each threat of the threat model names tests that exist; published packages are
//!         complete; no package depends on a package of a higher room; no two systemd units have the same name
//! ```
//!
//! Here are the rules for lines (length, white space, marks of later work, paths of one machine) and for links.
//!
//! Tried on 2026-11-24, and not used: Debian 12 has no packages of lychee and vale, and lychee needs 380 crates to
//! build. codespell 2.2.2 finds single words, and most turns in the list are phrases.

mod claims;
mod words;

use crate::chores::tracked;
use std::collections::BTreeMap;
use std::path::Path;
use std::{fmt, fs};

/// Checks all files that git tracks.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let files = files(root)?;
    let mut faults = Vec::new();
    for (path, text) in &files {
        check_lines(path, text, &mut faults);
        words::check(path, text, &mut faults);
        if path.ends_with(".md") {
            check_links(path, text, &files, &mut faults);
        }
    }
    claims::check_packages(&files, &mut faults);
    claims::check_units(&files, &mut faults);
    claims::check_rooms(&files, &mut faults);
    claims::check_promises(&files, &mut faults);
    claims::check_threats(&files, &mut faults);
    if faults.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Err(format!("{}\n{} faults", lines.join("\n"), faults.len()))
}

/// The text files that git tracks, by path.
fn files(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let names = tracked(root)?.into_iter();
    let files: BTreeMap<String, String> = names
        .filter_map(|path| Some((path.clone(), fs::read_to_string(root.join(path)).ok()?)))
        .collect();
    Ok(files)
}

// ---- fault ----

/// A breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) path: String,
    /// 0: the whole file.
    pub(super) line: usize,
    pub(super) note: String,
}

impl Fault {
    pub(super) fn new(path: &str, line: usize, note: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            note: note.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, line, note) = (&self.path, self.line, &self.note);
        match self.line {
            0 => write!(f, "{path}: {note}"),
            _ => write!(f, "{path}:{line}: {note}"),
        }
    }
}

/// Whether a file holds data or a licence: not written line by line for this project.
pub(super) fn is_data(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_vector =
        path.starts_with("vectors/") && !path.ends_with(".py") && !path.ends_with(".md");
    is_vector
        || path.starts_with("dev/fuzz/seeds/")
        || name.starts_with("LICENSE")
        || name == "copyright"
        || name.ends_with(".lock")
}

// ---- lines ----

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

fn check_lines(path: &str, text: &str, faults: &mut Vec<Fault>) {
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

// ---- links ----
// Links in Markdown: the file exists, and so does the heading.

/// Checks the links of a document. `files` are all files of the repository.
fn check_links(path: &str, text: &str, files: &BTreeMap<String, String>, faults: &mut Vec<Fault>) {
    for (number, line) in outside_of_code(text) {
        for target in targets(line) {
            if let Some(note) = broken(path, target, files) {
                faults.push(Fault::new(path, number, note));
            }
        }
    }
}

/// The numbered lines that are not in a block of code.
pub(crate) fn outside_of_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The targets in `](..)` and in `src=".."`.
pub(crate) fn targets(line: &str) -> impl Iterator<Item = &str> {
    let links = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    let attributes = ["src=\"", "srcset=\"", "href=\""]
        .into_iter()
        .flat_map(move |attribute| line.split(attribute).skip(1))
        .filter_map(|rest| rest.split('"').next());
    links.chain(attributes)
}

/// The reason why a link is broken; `None` if it is not.
fn broken(path: &str, target: &str, files: &BTreeMap<String, String>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let found = if file.is_empty() {
        path.to_owned()
    } else {
        resolve(path, file)
    };
    let is_folder = || {
        let below = format!("{}/", found.trim_end_matches('/'));
        files.keys().any(|name| name.starts_with(&below))
    };
    let Some(text) = files.get(&found) else {
        return (!is_folder()).then(|| format!("a link to {target}, which does not exist"));
    };
    let has_heading = heading.is_empty()
        || outside_of_code(text).any(|(_, line)| {
            line.starts_with('#') && anchor(line.trim_start_matches('#')) == heading
        });
    (!has_heading).then(|| format!("a link to {target}, and there is no such heading"))
}

/// A path in the repository, from a link in the file `path`.
pub(crate) fn resolve(path: &str, link: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchor that a heading gets: lower case, `-` for spaces, no other punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_data_and_the_programs_that_make_them_are_not() {
        assert!(is_data("vectors/seed-sequence.txt") && is_data("crates/x/LICENSE-MIT"));
        assert!(!is_data("vectors/make-pseudo.py") && !is_data("README.md"));
    }

    fn notes(path: &str, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        check_lines(path, text, &mut faults);
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

    fn link_notes(text: &str) -> usize {
        let files = [
            ("README.md", text),
            ("docs/entropy.md", "# The cutoffs, in short\n"),
            ("kernel/main.c", ""),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let mut faults = Vec::new();
        check_links("README.md", text, &files.into(), &mut faults);
        faults.len()
    }

    #[test]
    fn links_to_files_folders_headings_and_hosts_pass() {
        for good in [
            "[a](docs/entropy.md)",
            "[a](./docs/entropy.md#the-cutoffs-in-short)",
            "[a](kernel/) and [b](https://example.com/x)",
            "# Here\n[a](#here)",
            "```\n[a](nothing.md)\n```",
            "<img src=\"docs/entropy.md\">",
        ] {
            assert_eq!(link_notes(good), 0, "{good}");
        }
    }

    #[test]
    fn links_to_missing_files_and_headings_are_found() {
        for bad in [
            "[a](docs/other.md)",
            "[a](docs/entropy.md#another)",
            "[a](#nowhere)",
            "![a](docs/bench.svg)",
            "<img src=\"docs/bench.svg\">",
        ] {
            assert_eq!(link_notes(bad), 1, "{bad}");
        }
    }
}
