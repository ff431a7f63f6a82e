//! The conformance programs of `clones/page/`: the command writes a page as they require, and they find what is
//! wrong in a bad page.

use crate::common::{self, Scratch, is_installed};
use std::path::PathBuf;
use std::process::Command;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clones/page")
}

/// The program in C, or `None` where there is no compiler. Tests that run at the same time need several names.
fn program(name: &str) -> Option<Scratch> {
    if !is_installed("cc") {
        return None;
    }
    let program = Scratch::new(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]);
    compiler.args([program.path(), "conformance.c"]);
    assert!(compiler.current_dir(folder()).status().unwrap().success());
    Some(program)
}

fn python(words: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.arg(folder().join("conformance.py")).args(words);
    command
}

/// The words for a shell that change the page.
fn bump(page: &Scratch) -> String {
    let command = common::quoted_command();
    format!(
        "{command} generation bump --page {} > /dev/null",
        page.path()
    )
}

/// Runs a program to its end. Returns whether it found no fault, and what it said.
fn run(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\n1.."), "{text}");
    (output.status.success(), text)
}

#[test]
fn the_page_of_the_command_is_as_its_specification_says() {
    let page = Scratch::new("conformance-page");
    if let Some(program) = program("conformance-write") {
        let mut command = Command::new(program.path());
        let (is_good, text) = run(command.args(["write", page.path(), &bump(&page)]));
        assert!(is_good, "{text}");
    }
    if is_installed("python3") {
        let (is_good, text) = run(&mut python(&["write", page.path(), &bump(&page)]));
        assert!(is_good, "{text}");
    }
}

#[test]
fn the_reader_in_c_believes_good_pages_alone() {
    let Some(program) = program("conformance-read").filter(|_| is_installed("python3")) else {
        return;
    };
    let (is_good, text) = run(&mut python(&["read", program.path(), "read"]));
    assert!(is_good, "{text}");
}

#[test]
fn a_writer_that_changes_nothing_and_a_reader_that_believes_everything_are_found() {
    if !is_installed("python3") {
        return;
    }
    let page = Scratch::new("conformance-bad");
    common::text_of(&format!("generation bump --page {}", page.path()));
    let (is_good, text) = run(&mut python(&["write", page.path(), "true"]));
    assert!(!is_good && text.contains("not ok 7"), "{text}");
    let (is_good, text) = run(&mut python(&[
        "read",
        "sh",
        "-c",
        "while read x; do echo same; done",
    ]));
    assert!(!is_good && text.contains("not ok 1 "), "{text}");
}
