//! `test` finds faults in bytes from anywhere, and agrees with ent and rngtest.

mod common;

use common::{Scratch, is_installed, run, stdout_of, text_of, wellspring};
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// A file with 2 MB of a stream, in which one bit in `rarity` bytes is set.
fn noise(name: &str, rarity: usize) -> Scratch {
    let mut bytes = stdout_of("bytes 2MB --pseudo chacha20 --seed 3 --quiet");
    if rarity > 0 {
        bytes.iter_mut().step_by(rarity).for_each(|byte| *byte |= 1);
    }
    let file = Scratch::new(name);
    std::fs::write(&file.0, bytes).unwrap();
    file
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn value(verdict: &Value, name: &str) -> f64 {
    let tests = verdict["tests"].as_array().unwrap();
    let test = tests.iter().find(|test| test["name"] == name).unwrap();
    test["value"].as_f64().unwrap()
}

#[test]
fn good_bytes_pass_and_faulty_ones_fail_with_status_1() {
    let good = noise("good-noise", 0);
    let text = text_of(&format!("test {}", good.path()));
    assert!(
        text.ends_with("8 ok, 0 failed, 0 with too few bytes\n"),
        "{text}"
    );
    let faulty = noise("faulty-noise", 10);
    let output = run(&format!("test {}", faulty.path()));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(common::stderr(&output), "");
    let text = String::from_utf8(output.stdout).unwrap();
    let monobit = text
        .lines()
        .find(|line| line.starts_with("monobit"))
        .unwrap();
    assert!(monobit.ends_with("FAILED"), "{text}");
    let output = run(&format!("test {} --json", faulty.path()));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json(&output)["failed"], true);
}

#[test]
fn the_engines_own_bytes_pass() {
    let mut child = wellspring("test - --json")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = stdout_of("bytes 1M --quiet");
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    // Fails about once in a million runs.
    assert!(output.status.success(), "{output:?}");
    assert_eq!(json(&output)["bytes"], 1 << 20);
}

#[test]
fn no_bytes_are_bad_input() {
    for arguments in ["test /dev/null", "test -"] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(common::stderr(&output).contains("there are no bytes to test"));
    }
}

#[test]
fn ent_prints_the_same_values() {
    if !is_installed("ent") {
        return;
    }
    for (name, rarity) in [("ent-good", 0), ("ent-faulty", 100)] {
        let file = noise(name, rarity);
        let ent = Command::new("ent")
            .args(["-t", file.path()])
            .output()
            .unwrap();
        let ent = String::from_utf8(ent.stdout).unwrap();
        let fields: Vec<f64> = ent
            .lines()
            .nth(1)
            .unwrap()
            .split(',')
            .map(|field| field.parse().unwrap())
            .collect();
        let ours = json(&run(&format!("test {} --json", file.path())));
        let entropy = &ours["estimates"]["entropy_bits_per_byte"];
        for (ours, theirs) in [
            (ours["bytes"].as_f64().unwrap(), fields[1]),
            (entropy.as_f64().unwrap(), fields[2]),
            (value(&ours, "chi-square"), fields[3]),
            (value(&ours, "mean"), fields[4]),
            (value(&ours, "Monte Carlo pi"), fields[5]),
            (value(&ours, "serial correlation"), fields[6]),
        ] {
            // ent prints 6 digits after the point.
            assert!((ours - theirs).abs() < 6e-7, "{ours} and {ent}");
        }
    }
}

#[test]
fn rngtest_counts_the_same_failures() {
    if !is_installed("rngtest") {
        return;
    }
    for (name, rarity) in [("rngtest-good", 0), ("rngtest-faulty", 100)] {
        let file = noise(name, rarity);
        let mut rngtest = Command::new("rngtest");
        rngtest.stdin(std::fs::File::open(&file.0).unwrap());
        let theirs = String::from_utf8(rngtest.output().unwrap().stderr).unwrap();
        let theirs = |name: &str| -> u64 {
            let mut lines = theirs.lines();
            let line = lines.find(|line| line.contains(name)).unwrap();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let ours = json(&run(&format!("test {} --json", file.path())));
        let ours = |name: &str| ours["fips_140_2"][name].as_u64().unwrap();
        for (our_name, their_name) in [
            ("failed_blocks", "failures:"),
            ("monobit", "Monobit:"),
            ("poker", "Poker:"),
            ("runs", "Runs:"),
            ("long_run", "Long run:"),
            ("continuous_run", "Continuous run:"),
        ] {
            assert_eq!(ours(our_name), theirs(their_name), "{name}: {our_name}");
        }
        assert_eq!(ours("blocks"), theirs("successes:") + theirs("failures:"));
    }
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let binary = env!("CARGO_BIN_EXE_wellspring");
    let command = format!(
        "set -o pipefail; {binary} bytes 30M --quiet | (ulimit -v 32768 && exec {binary} test -)"
    );
    let output = Command::new("bash")
        .args(["-c", &command])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}
