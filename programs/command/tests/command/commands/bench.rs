//! `bench`: quick runs, as its users start them.

use crate::common::{Scratch, text_of};

#[test]
fn a_part_is_printed_and_written_as_json() {
    let json = Scratch::new("bench.json");
    let words = format!("bench --quick --only footprint --json {}", json.path());
    let text = text_of(&words);
    assert!(text.contains("first byte of a process"), "{text}");
    let json = std::fs::read_to_string(&json.0).unwrap();
    assert!(json.starts_with('{') && json.trim_end().ends_with('}'));
    assert!(json.contains("\"tap_bytes\""), "{json}");
}

#[test]
fn the_first_byte_of_a_fresh_process_is_a_number_of_nanoseconds() {
    let nanoseconds: u64 = text_of("bench --first-byte").trim().parse().unwrap();
    assert!(
        (1000..1_000_000_000).contains(&nanoseconds),
        "{nanoseconds}"
    );
}

#[test]
fn a_report_begins_with_a_line_that_has_a_number_and_names_no_target_of_the_project() {
    let text = text_of("bench --quick --only footprint");
    let first = text.lines().next().unwrap();
    assert!(
        first.contains(|character: char| character.is_ascii_digit()),
        "{text}"
    );
    assert!(!text.to_lowercase().contains("target"), "{text}");
}
