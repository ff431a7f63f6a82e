//! `tidy`: the house rules that a program can check.
//!
//! ```text
//! words     plain words: no old-fashioned turns, no retired names
//! lines     length, white space, promises, paths of one machine, unsafe, `match` on a bool, names of C functions
//! links     links in Markdown lead to files and headings that exist
//! circles   no files of a crate or of the kernel module that need each other
//! packages  packages that are published are complete; no two systemd units have the same name
//! promises  each promise of SECURITY.md names tests that exist
//! fault     a breach of a rule
//! allowed   the exceptions, each with its reason
//! ```

mod allowed;
mod circles;
mod fault;
mod lines;
mod links;
mod packages;
mod promises;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

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
    circles::check(&files, &mut faults);
    packages::check(&files, &mut faults);
    packages::check_units(&files, &mut faults);
    promises::check(&files, &mut faults);
    let faults = allowed::without_exceptions(faults);
    if faults.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Err(format!("{}\n{} faults", lines.join("\n"), faults.len()))
}

/// The text files that git tracks, by path.
fn files(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let git = env::var_os("GIT").unwrap_or_else(|| "git".into());
    let listed = Command::new(git)
        .args(["ls-files"])
        .current_dir(root)
        .output();
    let listed = listed.map_err(|error| format!("git ls-files: {error}"))?;
    let names = String::from_utf8_lossy(&listed.stdout);
    let files: BTreeMap<String, String> = names
        .lines()
        .filter_map(|path| Some((path.to_owned(), fs::read_to_string(root.join(path)).ok()?)))
        .collect();
    if files.is_empty() {
        return Err("git ls-files lists no files".into());
    }
    Ok(files)
}
