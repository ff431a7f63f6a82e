//! `bytes --pseudo` gives the streams of the vectors, to every number of threads.

use crate::common::{self, Scratch, stdout_of, vectors};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::process::Command;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares with the streams of a file that this command can name: without jumps, from a byte below 2^64 on. Returns their
/// number.
fn check(algorithm: &str) -> usize {
    let file = std::fs::read_to_string(vectors(&format!("pseudo-{algorithm}.txt"))).unwrap();
    let mut count = 0;
    for line in file.lines().filter(|line| line.starts_with("stream ")) {
        let fields: HashMap<&str, &str> = line
            .split(' ')
            .filter_map(|field| field.split_once('='))
            .collect();
        let offset = match (fields.get("jump"), fields.get("at")) {
            (None, None) => String::new(),
            (Some(&"0"), Some(at)) if at.parse::<u64>().is_ok() => format!("--offset {at}"),
            _ => continue,
        };
        let (seed, path, length) = (fields["seed"], fields["path"], fields["n"]);
        let threads = count % 3 + 1;
        let bytes = stdout_of(&format!(
            "bytes {length} --pseudo {algorithm} --seed 0x{seed} --stream {path} --threads {threads} {offset}"
        ));
        assert_eq!(hex(&Sha256::digest(&bytes)), fields["sha256"], "{line}");
        count += 1;
    }
    count
}

#[test]
fn xoshiro256plusplus_gives_the_known_streams() {
    assert_eq!(check("xoshiro256++"), 85);
}

#[test]
fn sixteen_lanes_of_xoshiro256plusplus_give_the_known_streams() {
    assert_eq!(check("xoshiro256++x16"), 95);
}

#[test]
fn xorshift128plus_gives_the_known_streams() {
    assert_eq!(check("xorshift128+"), 85);
}

#[test]
fn functions_of_a_counter_give_the_known_bytes_from_any_offset() {
    for algorithm in [
        "philox4x64-10",
        "chacha8",
        "chacha12",
        "chacha20",
        "aes256-ctr",
    ] {
        let count = check(algorithm);
        assert!(count >= 20, "{algorithm}: {count}");
    }
}

#[test]
fn parts_that_are_joined_are_the_bytes_of_one_run() {
    for algorithm in [
        "xoshiro256++",
        "xoshiro256++x16",
        "xorshift128+",
        "philox4x64-10",
        "chacha8",
        "chacha12",
        "chacha20",
        "aes256-ctr",
    ] {
        let stream = format!("--pseudo {algorithm} --seed 9 --stream 3/1 --quiet");
        let whole = stdout_of(&format!("bytes 500009 {stream}"));
        let cuts = [0, 1, 8, 4099, 196_608, 300_001, 500_009];
        let parts = cuts.windows(2).flat_map(|cut| {
            let (offset, length) = (cut[0], cut[1] - cut[0]);
            stdout_of(&format!("bytes {length} {stream} --offset {offset}"))
        });
        assert!(parts.eq(whole), "{algorithm}");
    }
}

#[test]
fn files_of_several_runs_joined_by_cat_are_the_file_of_one_run() {
    const PARTS: usize = 4;
    let folder = Scratch::new("parts");
    std::fs::create_dir(&folder.0).unwrap();
    let stream = "bytes --pseudo chacha8 --seed 2026 --stream 3/0/17 --quiet";
    let mut cat = Command::new("cat");
    for part in 0..PARTS {
        let file = folder.0.join(format!("part-{part}"));
        let (offset, output) = (part * 100_003, file.display());
        stdout_of(&format!(
            "{stream} --offset {offset} --length 100003 --output {output}"
        ));
        cat.arg(file);
    }
    let joined = cat.output().unwrap();
    assert!(joined.status.success(), "{joined:?}");
    let whole = stdout_of(&format!("{stream} --length {}", PARTS * 100_003));
    assert_eq!(whole.len(), PARTS * 100_003);
    assert!(joined.stdout == whole);
}

#[test]
fn an_offset_is_in_the_line_at_the_end_and_holds_for_answers_to_lines() {
    let stream = "bytes 1MiB --pseudo chacha8 --seed 1 --offset 3k";
    let output = common::run(stream);
    let line = common::stderr(&output);
    assert!(
        line.ends_with("chacha8, seed 1, stream /, from byte 3072\n"),
        "{line}"
    );
    let far = "bytes 16 --hex --pseudo xoshiro256++ --seed 1 --offset 15EiB";
    assert_eq!(stdout_of(far).len(), 33);
}

#[test]
fn the_number_of_threads_changes_no_byte_of_a_long_stream() {
    let stream = "bytes 3000001 --pseudo xoshiro256++ --seed 12345 --stream 3/0/17";
    let one = stdout_of(stream);
    assert_eq!(one.len(), 3_000_001);
    assert_eq!(stdout_of(&format!("{stream} --threads 8")), one);
}

#[test]
fn a_shorter_stream_is_the_beginning_of_a_longer_one() {
    let stream =
        |length: usize| stdout_of(&format!("bytes {length} --pseudo xorshift128+ --seed 1"));
    let long = stream(400_003);
    for length in [0, 1, 7, 8, 196_608, 196_611, 400_002] {
        assert_eq!(stream(length), long[..length]);
    }
}

#[test]
fn the_root_is_the_path_that_goes_without_saying() {
    let stream = "bytes 100 --pseudo xoshiro256++ --seed 1";
    assert_eq!(
        stdout_of(stream),
        stdout_of(&format!("{stream} --stream /"))
    );
    assert_ne!(
        stdout_of(stream),
        stdout_of(&format!("{stream} --stream 0"))
    );
    assert_ne!(
        stdout_of(stream),
        stdout_of("bytes 100 --pseudo xoshiro256++ --seed 2")
    );
}
