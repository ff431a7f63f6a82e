//! The symbols that the shared library exports: those of the header, and compatible with the baseline.

mod common;

use common::{DOOR, is_installed, library_folder, succeeds, text};
use std::collections::BTreeSet;
use std::process::Command;

/// Records the present interface as the baseline, after a change that only adds functions:
/// `WELLSPRING_ABI=record cargo test -p wellspring-c --test symbols`.
const RECORD: &str = "WELLSPRING_ABI";

fn tool(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    succeeds(&output)
}

#[test]
fn only_symbols_of_the_header_leave_the_library() {
    if !is_installed("nm") {
        return;
    }
    let library = library_folder().join("libwellspring.so.0");
    let text = tool(&["nm", "-D", "--defined-only", library.to_str().unwrap()]);
    let symbols = text
        .lines()
        .filter_map(|line| line.split_whitespace().last());
    let symbols: BTreeSet<&str> = symbols.collect();
    let header = std::fs::read_to_string(format!("{DOOR}/include/wellspring.h")).unwrap();
    let functions = header
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '/']));
    let names = functions.filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next());
    let names: BTreeSet<&str> = names.filter(|name| name.starts_with("ws_")).collect();
    assert!(names.len() > 20, "{names:?}");
    assert_eq!(symbols, names);
}

#[test]
fn the_library_has_its_name_and_stays_loaded() {
    if !is_installed("readelf") {
        return;
    }
    let library = library_folder().join("libwellspring.so.0");
    let text = tool(&["readelf", "-d", library.to_str().unwrap()]);
    assert!(text.contains("soname: [libwellspring.so.0]"), "{text}");
    assert!(text.contains("NODELETE"), "{text}");
}

#[test]
fn the_interface_is_that_of_the_baseline() {
    if !is_installed("abidiff") || !is_installed("strip") {
        return;
    }
    // Without debugging information, so that the baseline does not change with the compiler. The types are in the
    // header, which another test compares, and in the assertions of api.c.
    let folder = common::scratch("abi");
    let stripped = folder.join("libwellspring.so.0");
    let library = library_folder().join("libwellspring.so.0");
    let (stripped, library) = (stripped.to_str().unwrap(), library.to_str().unwrap());
    tool(&["strip", "-o", stripped, library]);
    let baseline = format!("{DOOR}/abi/libwellspring.abi");
    if std::env::var(RECORD).is_ok_and(|word| word == "record") {
        let words = ["--no-corpus-path", "--no-architecture", "--no-show-locs"];
        let output = Command::new("abidw")
            .args(words)
            .arg(stripped)
            .output()
            .unwrap();
        std::fs::write(&baseline, succeeds(&output)).unwrap();
    }
    let output = Command::new("abidiff")
        .args(["--no-architecture", &baseline, stripped])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "the interface changed: {}",
        text(&output)
    );
}
