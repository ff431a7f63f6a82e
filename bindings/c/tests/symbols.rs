//! The symbols that the shared library exports are those of the header.

mod common;

use common::{DOOR, header, is_installed, library_folder, succeeds};
use std::collections::BTreeSet;
use std::path::Path;
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
    let header = header();
    let functions = header
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '/']));
    let names = functions.filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next());
    let names: BTreeSet<&str> = names.filter(|name| name.starts_with("ws_")).collect();
    assert!(names.len() > 20, "{names:?}");
    assert_eq!(symbols, names);
    // The installer makes a link to a page for each of its names.
    let pages = std::fs::read_dir(Path::new(DOOR).join("man")).unwrap();
    let pages = pages.map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap());
    let of_page = |page: String| {
        let (head, _) = page.split_once("\\- ").unwrap();
        let lines = head.lines().skip_while(|line| *line != ".SH NAME").skip(1);
        let named = lines.map(|line| line.trim_end_matches([',', ' ']).to_owned());
        named.collect::<Vec<_>>()
    };
    let described: BTreeSet<String> = pages.flat_map(of_page).collect();
    for name in names {
        assert!(described.contains(name), "{name} has no man page");
    }
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
fn the_data_of_a_thread_leaves_half_of_the_loaders_room_to_others() {
    if !is_installed("readelf") || cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let library = library_folder().join("libwellspring.so.0");
    let dynamic = tool(&["readelf", "-d", library.to_str().unwrap()]);
    assert!(dynamic.contains("STATIC_TLS"), "{dynamic}");
    let segments = tool(&["readelf", "-lW", library.to_str().unwrap()]);
    let line = segments
        .lines()
        .find_map(|line| line.trim().strip_prefix("TLS "));
    // Offset, two addresses, the size in the file, the size in memory.
    let size = line.and_then(|line| line.split_whitespace().nth(4));
    let size = size.and_then(|size| u64::from_str_radix(size.trim_start_matches("0x"), 16).ok());
    // glibc keeps 1664 bytes for libraries that dlopen(3) loads.
    assert!(size.is_some_and(|size| size <= 832), "{segments}");
}
