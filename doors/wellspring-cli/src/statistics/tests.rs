//! Known answers, and the behaviour of the tests on good data.

use super::*;
use sha2::{Digest, Sha256};
use wellspring::pseudo::{Algorithm, Stream};

/// Answers of `tests/known-answers/statistics.py`.
const ANSWERS: &str = include_str!("../../tests/known-answers/statistics.txt");

/// The inputs of that program.
fn input(name: &str, length: usize) -> Vec<u8> {
    let blocks = (0..=length as u64 / 32).map(|number| Sha256::digest(number.to_le_bytes()));
    let mut bytes: Vec<u8> = blocks.flatten().collect();
    bytes.truncate(length);
    if name == "echo" {
        for index in (5..length).step_by(5) {
            bytes[index] = bytes[index - 1];
        }
    }
    bytes
}

fn verdict_of(bytes: &[u8]) -> Verdict {
    let mut statistics = Statistics::default();
    statistics.update(bytes);
    statistics.verdict()
}

fn is_close(value: f64, expected: f64, error: f64) -> bool {
    (value - expected).abs() <= error * expected.abs().max(1e-9)
}

/// Compares a line of the answers with a verdict.
fn compare(verdict: &Verdict, line: &str) {
    let (name, answer) = line.split_once(" = ").unwrap();
    let numbers: Vec<f64> = answer
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let fips = verdict.fips;
    match name {
        "fips" => assert_eq!(
            [
                fips.blocks,
                fips.any,
                fips.monobit,
                fips.poker,
                fips.runs,
                fips.long_run,
                fips.continuous_run
            ]
            .map(|count| count as f64)[..],
            numbers
        ),
        "entropy" => assert!(is_close(verdict.entropy, numbers[0], 1e-10)),
        "most common value" => {
            assert!(is_close(verdict.most_common_value, numbers[0], 1e-10));
        }
        "compression estimate" => {
            let ours = verdict.compression.unwrap();
            assert!(is_close(ours, numbers[0], 1e-7), "{ours}");
        }
        _ => {
            let name = name.strip_prefix("test ").unwrap();
            let mut tests = verdict.tests.iter();
            let test = tests.find(|test| test.name == name).unwrap();
            let p_value = test.p_value.unwrap();
            assert!(is_close(test.value, numbers[0], 1e-10), "{line}");
            assert!(is_close(p_value, numbers[1], 1e-5), "{line}: {p_value}");
        }
    }
}

#[test]
fn values_are_those_of_an_independent_program() {
    let (mut verdict, mut compared) = (None, 0);
    for line in ANSWERS.lines() {
        if let Some(input_line) = line.strip_prefix("input ") {
            let (name, length) = input_line.split_once(' ').unwrap();
            verdict = Some(verdict_of(&input(name, length.parse().unwrap())));
            continue;
        }
        compare(verdict.as_ref().unwrap(), line);
        compared += 1;
    }
    assert_eq!(compared, 22);
}

#[test]
fn pieces_of_any_length_give_the_same_verdict() {
    let bytes = input("good", 30_011);
    let expected = verdict_of(&bytes);
    for length in [1, 2, 5, 7, 2500, 2504, 4099] {
        let mut cut = Statistics::default();
        cut.update(&[]);
        bytes.chunks(length).for_each(|piece| cut.update(piece));
        let verdict = cut.verdict();
        assert_eq!(verdict.fips, expected.fips, "{length}");
        for (test, expected) in verdict.tests.iter().zip(&expected.tests) {
            assert!(
                is_close(test.value, expected.value, 1e-12),
                "{length}: {}",
                test.name
            );
        }
    }
}

#[test]
fn each_test_finds_the_fault_that_it_is_made_for() {
    let good = Stream::new(Algorithm::ChaCha20, 1, &[]);
    let make = |length: usize| {
        let mut bytes = vec![0; length];
        good.clone().fill(&mut bytes);
        bytes
    };
    let fails = |name: &str, bytes: &[u8]| {
        let verdict = verdict_of(bytes);
        let failed = |test: &Test| test.name == name && test.failed;
        assert!(verdict.tests.iter().any(failed), "{name}");
        assert!(verdict.failed());
    };
    // One bit in 100 is set.
    let mut bytes = make(1 << 20);
    bytes.iter_mut().step_by(12).for_each(|byte| *byte |= 1);
    fails("monobit", &bytes);
    // Equal neighbours.
    let bytes: Vec<u8> = make(1 << 16).iter().map(|byte| byte | byte >> 1).collect();
    fails("runs", &bytes);
    // Every tenth block of 2500 bytes has a run of 32 bits.
    let mut bytes = make(1 << 20);
    bytes
        .chunks_mut(25_000)
        .for_each(|block| block[100..104].fill(0));
    fails("FIPS 140-2 blocks", &bytes);
    // One value is missing.
    let mut bytes = make(1 << 20);
    bytes.retain(|&byte| byte != 77);
    fails("chi-square", &bytes);
    // All values are equally frequent: too good.
    let bytes: Vec<u8> = (0..1 << 20).map(|index: u32| (index * 77) as u8).collect();
    fails("chi-square", &bytes);
    // One byte in 100 is 255.
    let mut bytes = make(1 << 20);
    bytes.iter_mut().step_by(100).for_each(|byte| *byte = 255);
    fails("mean", &bytes);
    // One byte in 50 is the byte before.
    let mut bytes = make(1 << 20);
    (1..bytes.len())
        .step_by(50)
        .for_each(|index| bytes[index] = bytes[index - 1]);
    fails("serial correlation", &bytes);
    // Points in the square only.
    let mut bytes = make(6 << 16);
    bytes
        .chunks_mut(60)
        .for_each(|points| points[..6].fill(0x80));
    fails("Monte Carlo pi", &bytes);
    // The same 64 bytes once in 1024, each with other neighbours.
    let mut bytes = make(1 << 20);
    let repeated = bytes[..64].to_vec();
    bytes
        .chunks_mut(128)
        .for_each(|chunk| chunk[..64].copy_from_slice(&repeated));
    fails("compression", &bytes);
}

#[test]
fn few_or_equal_bytes_are_no_reason_to_divide_by_zero() {
    for length in [1, 2, 3, 6, 100, 1000, 2504, 60_000] {
        let verdict = verdict_of(&vec![0; length]);
        // 24 equal bits come once in 8 million runs, 48 never.
        assert_eq!(verdict.failed(), length > 3, "{length}");
        assert_eq!(verdict.entropy, 0.0);
        assert_eq!(verdict.most_common_value, 0.0);
        for test in &verdict.tests {
            assert!(
                test.p_value.is_none_or(|p_value| p_value >= 0.0),
                "{}",
                test.name
            );
        }
    }
    let none = Statistics::default();
    assert_eq!(none.bytes(), 0);
}

/// Good data: the p-values of each test are spread evenly from 0 to 1. The streams are fixed, and so is the outcome.
#[test]
fn p_values_of_good_data_are_spread_evenly() {
    let streams = if std::env::var_os("WELLSPRING_LONG").is_some() {
        2000
    } else {
        60
    };
    let mut p_values: Vec<(&str, Vec<f64>)> = Vec::new();
    let mut bytes = vec![0; 250_000];
    for number in 0..streams {
        Stream::new(Algorithm::ChaCha20, 7, &[number]).fill(&mut bytes);
        let verdict = verdict_of(&bytes);
        assert!(!verdict.failed(), "stream {number}");
        for (index, test) in verdict.tests.iter().enumerate() {
            if number == 0 {
                p_values.push((test.name, Vec::new()));
            }
            p_values[index].1.extend(test.p_value);
        }
    }
    for (name, mut p_values) in p_values {
        // Whole numbers of failed blocks cannot be spread evenly.
        if name == "FIPS 140-2 blocks" {
            continue;
        }
        p_values.sort_by(f64::total_cmp);
        let count = p_values.len() as f64;
        // Kolmogorov's distance; 1.95 / sqrt(n) is exceeded once in 1000 times.
        let distance = (0..).zip(&p_values).map(|(index, p_value)| {
            let (low, high) = (f64::from(index) / count, f64::from(index + 1) / count);
            (p_value - low).abs().max((high - p_value).abs())
        });
        let distance = distance.fold(0.0, f64::max);
        eprintln!("{name}: {:.2} of 1.95", distance * count.sqrt());
        assert!(distance < 1.95 / count.sqrt(), "{name}: {distance}");
    }
}
