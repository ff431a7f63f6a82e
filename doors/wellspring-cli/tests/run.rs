//! `run`: programs draw on wellspring, the report says how much, and their status is ours.

mod common;

use common::{is_installed, stderr};
use std::path::Path;
use std::process::{Command, Output};

/// Builds the two libraries beside the command, as `cargo build` at the root does. Nothing to do if they are new.
fn build_libraries() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let command = Path::new(env!("CARGO_BIN_EXE_wellspring"));
    let target = command.parent().unwrap().parent().unwrap();
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--locked", "--target-dir"])
        .arg(target);
    if target.join("release") == command.parent().unwrap() {
        build.arg("--release");
    }
    let words = ["-p", "wellspring-preload", "-p", "wellspring-openssl"];
    let output = build
        .args(words)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn run(options: &[&str], program: &[&str]) -> Output {
    static BUILT: std::sync::Once = std::sync::Once::new();
    BUILT.call_once(build_libraries);
    let mut command = common::wellspring("run");
    command
        .args(options)
        .arg("--")
        .args(program)
        .output()
        .unwrap()
}

/// The number before a word, in the line of a door.
fn number(report: &str, door: &str, word: &str) -> u64 {
    let line = report
        .lines()
        .find(|line| line.contains(door))
        .unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|found| *found == word);
    place.map_or(0, |place| words[place - 1].parse().unwrap())
}

#[test]
fn a_report_counts_what_python_drew_through_both_doors() {
    if !is_installed("python3") {
        return;
    }
    let script = "import os, ssl; [os.urandom(100) for _ in range(50)]; [ssl.RAND_bytes(10) for _ in range(30)]";
    let output = run(&["--report"], &["python3", "-c", script]);
    assert!(output.status.success(), "{output:?}");
    let report = stderr(&output);
    assert!(number(report, "getrandom", "bytes") >= 5000, "{report}");
    assert!(number(report, "getrandom", "calls") >= 50, "{report}");
    assert!(number(report, "getrandom", "threads") >= 1, "{report}");
    // A Python with an OpenSSL of its own, and without a configuration, draws its seed alone.
    assert!(number(report, "provider WELLSPRING", "calls") >= 30 || !report.contains("provider"));
}

#[test]
fn each_door_can_be_set_up_alone() {
    if !is_installed("openssl") {
        return;
    }
    let rand = ["openssl", "rand", "-hex", "1000"];
    let output = run(&["--openssl", "--report"], &rand);
    let report = stderr(&output);
    assert!(
        number(report, "provider WELLSPRING", "bytes") >= 1000,
        "{report}"
    );
    assert!(report.contains("0 programs loaded"), "{report}");
    let output = run(&["--preload", "--report"], &rand);
    let report = stderr(&output);
    assert!(!report.contains("provider"), "{report}");
    assert!(report.contains("1 programs loaded"), "{report}");
    assert_eq!(output.stdout.len(), 2001);
}

#[test]
fn rand_bytes_of_openssl_is_replaced_on_request_only() {
    if !is_installed("openssl") {
        return;
    }
    let rand = ["openssl", "rand", "-hex", "1000"];
    let output = run(&["--preload", "--rand-bytes", "--report"], &rand);
    let report = stderr(&output);
    assert!(number(report, "RAND_bytes", "bytes") >= 1000, "{report}");
    // Without the option a call goes on to OpenSSL, and OpenSSL to the provider.
    let output = run(&["--report"], &rand);
    let report = stderr(&output);
    assert!(!report.contains("RAND_bytes"), "{report}");
    assert!(
        number(report, "provider WELLSPRING", "bytes") >= 1000,
        "{report}"
    );
}

#[test]
fn the_status_and_the_arguments_are_the_programs() {
    let output = run(
        &[],
        &[
            "sh",
            "-c",
            "printf '%s,' \"$@\"; exit 7",
            "sh",
            "--report",
            "a b",
            "--",
        ],
    );
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"--report,a b,--,");
    let output = run(&[], &["sh", "-c", "kill -TERM $$"]);
    assert_eq!(output.status.code(), Some(128 + 15));
    let output = run(&[], &["/nonexistent/program"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(stderr(&output).contains("/nonexistent/program"));
    let output = run(&[], &["/etc/passwd"]);
    assert_eq!(output.status.code(), Some(126));
}

#[test]
fn a_static_program_is_named_as_out_of_reach() {
    if !is_installed("cc") {
        return;
    }
    let source = common::Scratch::new("static.c");
    let program = common::Scratch::new("static");
    std::fs::write(&source.0, "int main(void) { return 0; }").unwrap();
    let built = Command::new("cc")
        .args(["-static", "-o", program.path(), source.path()])
        .output();
    if !built.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no static C library");
        return;
    }
    let output = run(&["--report"], &[program.path()]);
    assert!(output.status.success());
    let report = stderr(&output);
    assert!(report.contains("the program is static"), "{report}");
    assert!(report.contains("drew no random bytes"), "{report}");
}

#[test]
fn without_a_program_there_is_an_error_in_one_line() {
    let output = common::run("run");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output).lines().count(), 1, "{output:?}");
}
