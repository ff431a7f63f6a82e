//! Runs programs of other runtimes, as copies of one process, beside a generation page.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::programs::{compile, in_list, scratch, succeeds};
use wellspring::clone_detection::bump;

pub(crate) const GUARDS: &str = env!("CARGO_MANIFEST_DIR");

/// The preload library, which cargo builds beside the tests.
pub(crate) fn preload() -> PathBuf {
    in_list(&beside("libwellspring_preload.so"))
}

/// The engine's library for C.
pub(crate) fn library() -> PathBuf {
    beside("libwellspring_c.so")
}

fn beside(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().join(name)
}

/// A new page.
pub(crate) fn page() -> PathBuf {
    let page = scratch("page").join("generation");
    bump(&page).unwrap();
    page
}

/// A library that makes copies of a process when the process calls rmdir("/copies").
pub(crate) fn copies() -> PathBuf {
    let source = Path::new(GUARDS).join("tests/c/copies.c");
    in_list(&compile(&source, &["-shared", "-fPIC"]))
}

/// A command that is ended after 300 seconds, with a page for its guard.
pub(crate) fn command(program: &str, page: &Path) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["--signal=KILL", "300", program])
        .env("WELLSPRING_PAGE", page)
        .env("WELLSPRING_PRELOAD", preload())
        .stdin(Stdio::null());
    command
}

/// Runs a program to its end. What it prints is JSON, a line for each copy.
pub(crate) fn lines(command: &mut Command) -> Vec<Value> {
    let text = succeeds(&command.output().unwrap());
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{text}"));
    text.lines().map(parse).collect()
}

/// The two lines of two copies.
pub(crate) fn two(command: &mut Command) -> [Value; 2] {
    let lines = lines(command);
    let count = lines.len();
    lines
        .try_into()
        .unwrap_or_else(|_| panic!("{count} copies"))
}

/// Returns what two copies of a program draw: `start` makes its command, and `script` is in the folder of the tests.
pub(crate) fn run_copies(start: fn(&Path) -> Command, script: &str, how: &str) -> [Value; 2] {
    let page = page();
    let mut command = start(&page);
    command
        .env("LD_PRELOAD", copies())
        .arg(Path::new(GUARDS).join("tests").join(script));
    two(command.arg(&page).arg(how))
}

/// The names of the values that both copies drew.
pub(crate) fn same([one, other]: &[Value; 2]) -> BTreeSet<String> {
    let values = one.as_object().unwrap();
    assert!(!values.is_empty() && values.len() == other.as_object().unwrap().len());
    let is_same = |name: &&String| one[name.as_str()] == other[name.as_str()];
    values.keys().filter(is_same).cloned().collect()
}

/// The names of all values.
pub(crate) fn names([one, _]: &[Value; 2]) -> BTreeSet<String> {
    one.as_object().unwrap().keys().cloned().collect()
}

pub(crate) fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.into()).collect()
}
