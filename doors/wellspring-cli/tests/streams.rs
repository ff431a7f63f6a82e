//! `bytes --pseudo` gives the streams of the vectors, to every number of threads.

mod common;

use common::{stdout_of, vectors};
use sha2::{Digest, Sha256};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check(algorithm: &str) -> usize {
    let file = std::fs::read_to_string(vectors(&format!("pseudo-{algorithm}.txt"))).unwrap();
    let streams = file.lines().filter(|line| line.starts_with("stream "));
    let mut count = 0;
    for line in streams {
        let field = |name: &str| {
            let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
            fields.find(|(other, _)| *other == name).unwrap().1
        };
        let (seed, path, length) = (field("seed"), field("path"), field("n"));
        let threads = count % 3 + 1;
        let bytes = stdout_of(&format!(
            "bytes {length} --pseudo {algorithm} --seed 0x{seed} --stream {path} --threads {threads}"
        ));
        assert_eq!(hex(&Sha256::digest(&bytes)), field("sha256"), "{line}");
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
