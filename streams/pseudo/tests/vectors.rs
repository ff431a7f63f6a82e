//! The known answers in `vectors/`; the head of each file says what its lines mean.

mod common;

use common::lines::{Line, hex, lines};
use sha2::{Digest, Sha256};
use wellspring_pseudo::{
    Algorithm, Path, SeedSequence, Stream, Width, Xorshift128Plus, Xoshiro256PlusPlus,
    Xoshiro256PlusPlusX16, philox4x64_10,
};

const XORSHIFT128PLUS: &str = include_str!("../../../vectors/pseudo-xorshift128+.txt");
const XOSHIRO256PLUSPLUS: &str = include_str!("../../../vectors/pseudo-xoshiro256++.txt");
const XOSHIRO256PLUSPLUS_X16: &str = include_str!("../../../vectors/pseudo-xoshiro256++x16.txt");
const PHILOX4X64: &str = include_str!("../../../vectors/pseudo-philox4x64-10.txt");
const CHACHA8: &str = include_str!("../../../vectors/pseudo-chacha8.txt");
const CHACHA12: &str = include_str!("../../../vectors/pseudo-chacha12.txt");
const CHACHA20: &str = include_str!("../../../vectors/pseudo-chacha20.txt");
const AES256_CTR: &str = include_str!("../../../vectors/pseudo-aes256-ctr.txt");
const SEED_SEQUENCE: &str = include_str!("../../../vectors/seed-sequence.txt");

fn name(line: &Line<'_>) -> (u128, Path) {
    let seed = u128::from_str_radix(line.field("seed"), 16).unwrap();
    let path = line.field("path").parse().unwrap();
    (seed, path)
}

fn check_stream(algorithm: Algorithm, line: &Line<'_>) {
    let (seed, path) = name(line);
    check_bytes(line, |bytes| {
        Stream::new(algorithm, seed, &path).fill(bytes);
    });
}

fn check_bytes(line: &Line<'_>, fill: impl FnOnce(&mut [u8])) {
    let mut bytes = vec![0; line.field("n").parse().unwrap()];
    fill(&mut bytes);
    let first = &bytes[..bytes.len().min(32)];
    let last = &bytes[bytes.len().saturating_sub(32)..];
    assert_eq!(hex(first), line.field("first"), "{}", line.0);
    assert_eq!(hex(last), line.field("last"), "{}", line.0);
    assert_eq!(
        hex(&Sha256::digest(&bytes)),
        line.field("sha256"),
        "{}",
        line.0
    );
}

#[test]
fn xorshift128plus_gives_the_known_answers() {
    let (mut words, mut jumps, mut streams) = (0, 0, 0);
    for line in lines(XORSHIFT128PLUS) {
        match line.kind() {
            "words" => {
                let mut engine = Xorshift128Plus::from_words(line.words("state")).unwrap();
                let expected: [u64; 16] = line.words("out");
                assert_eq!(expected.map(|_| engine.next_u64()), expected, "{}", line.0);
                words += 1;
            }
            "jump" => {
                let mut engine = Xorshift128Plus::from_words(line.words("state")).unwrap();
                engine.jump();
                assert_eq!(engine.words(), line.words("after"), "{}", line.0);
                jumps += 1;
            }
            "stream" => {
                check_stream(Algorithm::Xorshift128Plus, &line);
                streams += 1;
            }
            kind => panic!("unknown kind of line: {kind}"),
        }
    }
    assert_eq!((words, jumps, streams), (8, 8, 85));
}

#[test]
fn xoshiro256plusplus_gives_the_known_answers() {
    let (mut words, mut jumps, mut long_jumps, mut streams) = (0, 0, 0, 0);
    for line in lines(XOSHIRO256PLUSPLUS) {
        match line.kind() {
            "words" => {
                let mut engine = Xoshiro256PlusPlus::from_words(line.words("state")).unwrap();
                let expected: [u64; 16] = line.words("out");
                assert_eq!(expected.map(|_| engine.next_u64()), expected, "{}", line.0);
                words += 1;
            }
            "jump" => {
                let mut engine = Xoshiro256PlusPlus::from_words(line.words("state")).unwrap();
                engine.jump();
                assert_eq!(engine.words(), line.words("after"), "{}", line.0);
                jumps += 1;
            }
            "long-jump" => {
                let mut engine = Xoshiro256PlusPlus::from_words(line.words("state")).unwrap();
                engine.long_jump();
                assert_eq!(engine.words(), line.words("after"), "{}", line.0);
                long_jumps += 1;
            }
            "stream" => {
                check_stream(Algorithm::Xoshiro256PlusPlus, &line);
                streams += 1;
            }
            kind => panic!("unknown kind of line: {kind}"),
        }
    }
    assert_eq!((words, jumps, long_jumps, streams), (10, 10, 10, 85));
}

fn widths() -> impl Iterator<Item = Width> {
    let available = |width: &Width| width.is_available();
    Width::ALL.iter().copied().filter(available)
}

#[test]
fn sixteen_lanes_give_the_known_answers_at_every_width() {
    let (mut words, mut streams) = (0, 0);
    for line in lines(XOSHIRO256PLUSPLUS_X16) {
        match line.kind() {
            "words" => {
                let lane_0 = Xoshiro256PlusPlus::from_words(line.words("state")).unwrap();
                let lanes = Xoshiro256PlusPlusX16::jumping_from(&lane_0);
                let expected: [u64; 48] = line.words("out");
                let mut singly = lanes.clone();
                assert_eq!(expected.map(|_| singly.next_u64()), expected, "{}", line.0);
                for width in widths() {
                    let mut bytes = [0; 8 * 48];
                    lanes.clone().fill_at(width, &mut bytes);
                    let expected = expected.map(u64::to_le_bytes);
                    assert_eq!(bytes, expected.as_flattened(), "{width} {}", line.0);
                }
                words += 1;
            }
            "stream" => {
                check_stream(Algorithm::Xoshiro256PlusPlusX16, &line);
                let (seed, path) = name(&line);
                let root = SeedSequence::new(seed);
                let name = path.iter().fold(root, |parent, &key| parent.child(key));
                let lane_0 = Xoshiro256PlusPlus::from_words(name.generate_u64()).unwrap();
                let lanes = Xoshiro256PlusPlusX16::jumping_from(&lane_0);
                for width in widths() {
                    check_bytes(&line, |bytes| lanes.clone().fill_at(width, bytes));
                }
                streams += 1;
            }
            kind => panic!("unknown kind of line: {kind}"),
        }
    }
    assert_eq!((words, streams), (10, 95));
}

/// The 32-bit words of a list of hexadecimal integers of any size, each broken up as NumPy does.
fn coerced(list: &str) -> Vec<u32> {
    if list == "-" {
        return Vec::new();
    }
    let broken_up = |digits: &str| -> Vec<u32> {
        if digits.len() <= 32 {
            return SeedSequence::coerce(u128::from_str_radix(digits, 16).unwrap()).collect();
        }
        digits
            .as_bytes()
            .rchunks(8)
            .map(|word| u32::from_str_radix(str::from_utf8(word).unwrap(), 16).unwrap())
            .collect()
    };
    list.split(',').flat_map(broken_up).collect()
}

#[test]
fn seed_sequences_give_numpys_answers() {
    let mut sequences = 0;
    for line in lines(SEED_SEQUENCE) {
        assert_eq!(line.kind(), "sequence");
        let root = SeedSequence::from_words(&coerced(line.field("entropy")));
        let sequence = coerced(line.field("key"))
            .iter()
            .fold(root, |parent, &key| parent.child(key));
        let narrow: [u32; 10] = sequence.generate_u32();
        assert_eq!(narrow.map(u64::from), line.words("u32"), "{}", line.0);
        assert_eq!(
            sequence.generate_u64::<5>(),
            line.words("u64"),
            "{}",
            line.0
        );
        sequences += 1;
    }
    assert_eq!(sequences, 358);
}

/// Compares the streams of a file, from any byte of any jump, and returns how many there were.
fn check_placed_streams(algorithm: Algorithm, file: &str) -> usize {
    let mut streams = 0;
    for line in lines(file).filter(|line| line.kind() == "stream") {
        let (seed, path) = name(&line);
        let jumps = line.field("jump").parse().unwrap();
        let position = line.field("at").parse().unwrap();
        let stream = Stream::new(algorithm, seed, &path).jumped(jumps).unwrap();
        check_bytes(&line, |bytes| stream.at(position).fill(bytes));
        streams += 1;
    }
    streams
}

#[test]
fn philox_gives_the_known_answers_of_numpy_and_random123() {
    let mut blocks = 0;
    for line in lines(PHILOX4X64).filter(|line| line.kind() == "block") {
        let block = philox4x64_10(line.words("counter"), line.words("key"));
        assert_eq!(block, line.words("out"), "{}", line.0);
        blocks += 1;
    }
    let streams = check_placed_streams(Algorithm::Philox4x64, PHILOX4X64);
    assert_eq!((blocks, streams), (23, 106));
}

#[test]
fn ciphers_give_the_known_answers() {
    for (algorithm, file) in [
        (Algorithm::ChaCha8, CHACHA8),
        (Algorithm::ChaCha12, CHACHA12),
        (Algorithm::ChaCha20, CHACHA20),
        (Algorithm::Aes256Ctr, AES256_CTR),
    ] {
        assert_eq!(check_placed_streams(algorithm, file), 106, "{algorithm}");
    }
}

#[test]
fn the_digest_on_the_page_about_streams_is_right() {
    let page = include_str!("../../../docs/reference/streams.md");
    let mut bytes = vec![0; 1 << 20];
    Stream::new(Algorithm::ChaCha8, 2026, &[3, 0, 17]).fill(&mut bytes);
    assert!(page.contains("--pseudo chacha8 --seed 2026 --stream 3/0/17 1MiB | sha256sum"));
    assert!(page.contains(&hex(&Sha256::digest(&bytes))));
}
