//! The symbols that the shared library exports are those of the header.

mod common;

use common::{DOOR, is_installed, library_folder, succeeds};
use std::collections::BTreeSet;
use std::process::Command;

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
