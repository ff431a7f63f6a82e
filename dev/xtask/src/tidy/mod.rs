//! `tidy`: the house rules that a program can check.
//!
//! ```text
//! words     plain words: no old-fashioned turns
//! lines     long lines, white space, promises, paths of one machine, unsafe, names of C functions
//! links     links in Markdown lead to files and headings that exist
//! packages  packages that are published are complete; no two systemd units have the same name
//! rooms     no package depends on a package of a higher room
//! promises  each promise of SECURITY.md names tests that exist
//! threats   so does each threat of the threat model
//! fault     a breach of a rule
//! ```
//!
//! Tried on 2026-11-24, and not used: Debian 12 has no packages of lychee and vale, and lychee needs 380 crates to
//! build. codespell 2.2.2 finds single words, and most turns in the list are phrases.

mod fault;
mod lines;
pub(crate) mod links;
mod packages;
mod promises;
mod rooms;
mod threats;
mod words;

use crate::chores::tracked;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Checks all files that git tracks.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let files = files(root)?;
    let mut faults = Vec::new();
    for (path, text) in &files {
        lines::check(path, text, &mut faults);
        words::check(path, text, &mut faults);
        if path.ends_with(".md") {
            links::check(path, text, &files, &mut faults);
        }
    }
    packages::check(&files, &mut faults);
    packages::check_units(&files, &mut faults);
    rooms::check(&files, &mut faults);
    promises::check(&files, &mut faults);
    threats::check(&files, &mut faults);
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
