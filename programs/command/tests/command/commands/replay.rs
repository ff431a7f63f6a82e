//! `replay` answers and compares.

use crate::common::{self, Scratch, run, stderr, stdout_of, text_of, vectors, wellspring};
use std::io::Write;
use std::process::Stdio;

const QUESTION: &str = "\
# Fortuna's generator with a key and a counter of zero but one.
gen cipher=aes concurrent=1 K=0000000000000000000000000000000000000000000000000000000000000000 C=01000000000000000000000000000000
read n=4
";

fn freebsd() -> String {
    common::quoted(&vectors("fortuna-freebsd.txt"))
}

#[test]
fn freebsds_answers_are_those_of_every_backend() {
    let summary = "704 answers in 58 vectors are the same\n";
    assert_eq!(text_of(&format!("replay --check {}", freebsd())), summary);
    for backend in ["aes256-portable", "chacha20-portable"] {
        let arguments = format!("replay --check --backend {backend} {}", freebsd());
        assert_eq!(text_of(&arguments), summary);
    }
}

#[test]
fn answers_are_printed_in_the_words_of_the_file() {
    let file = std::fs::read_to_string(vectors("fortuna-freebsd.txt")).unwrap();
    let is_answer = |line: &&str| {
        ["pre ", "read ", "after "]
            .iter()
            .any(|word| line.starts_with(word))
    };
    // Some are indented in the file, some not.
    let expected: Vec<&str> = file.lines().map(str::trim).filter(is_answer).collect();
    assert_eq!(expected.len(), 704);
    let got = text_of(&format!("replay {}", freebsd()));
    assert!(
        got.lines().map(str::trim).eq(expected),
        "the answers differ from the file's"
    );
}

#[test]
fn a_wrong_answer_is_shown_with_its_line_and_fails() {
    let file = std::fs::read_to_string(vectors("fortuna-freebsd.txt")).unwrap();
    let number = 1 + file
        .lines()
        .position(|line| line.starts_with("read n=16 out="))
        .unwrap();
    let right = file.lines().nth(number - 1).unwrap();
    let wrong = match right.strip_suffix('0') {
        Some(start) => format!("{start}1"),
        None => format!("{}0", &right[..right.len() - 1]),
    };
    let corrupted = Scratch::new("corrupted");
    std::fs::write(&corrupted.0, file.replacen(right, &wrong, 1)).unwrap();
    let name = corrupted.path();
    let output = run(&format!("replay --check {name}"));
    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "{name}:{number}: expected {wrong}\n{name}:{number}: got      {right}\n\
         1 of 704 answers in 58 vectors differ\n"
    );
    assert_eq!(stderr(&output), "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn comparing_nothing_is_no_success() {
    let file = Scratch::new("open");
    for (text, summary) in [
        ("", "0 answers in 0 vectors are the same\n"),
        ("# a comment\n\n", "0 answers in 0 vectors are the same\n"),
        (
            QUESTION,
            "0 answers in 1 vectors are the same, 1 have nothing to compare with\n",
        ),
    ] {
        std::fs::write(&file.0, text).unwrap();
        // Not even beside a file that has answers.
        let output = run(&format!("replay --check {}", file.path()));
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), summary);
        assert!(
            stderr(&output).contains("has no answers to compare"),
            "{text}"
        );
        let output = run(&format!("replay --check {} {}", freebsd(), file.path()));
        assert_eq!(output.status.code(), Some(1), "{text}");
    }
}

#[test]
fn a_file_that_asks_for_nothing_is_bad_input() {
    let file = Scratch::new("nothing");
    let head = "begin cipher=aes concurrent=1\nend\n";
    for text in ["", "# a comment\n\n", head] {
        std::fs::write(&file.0, text).unwrap();
        for command in ["replay", "sources replay"] {
            let output = run(&format!("{command} {}", file.path()));
            assert_eq!(output.status.code(), Some(2), "{command}: {text}");
            let expected = format!("wellspring: {}: asks for no answer\n", file.path());
            assert_eq!(stderr(&output), expected);
        }
    }
    // The answers of the files before it are printed.
    let output = run(&format!("replay {} {}", freebsd(), file.path()));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, stdout_of(&format!("replay {}", freebsd())));
    let output = run("replay -");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "wellspring: standard input: asks for no answer\n"
    );
    let output = run("sources replay --raw jitter /dev/null");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "wellspring: /dev/null: there are no samples to test\n"
    );
}

#[test]
fn questions_come_from_the_standard_input_too() {
    let mut command = wellspring("replay -");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(QUESTION.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    // AES-256 of the block 01 00 .. 00 under a key of zeros.
    assert_eq!(output.stdout, b"read n=4 out=5275f3d8\n");
}

#[test]
fn a_line_that_cannot_be_understood_is_named() {
    let file = Scratch::new("hostile");
    for (text, expected) in [
        (
            &b"read n=1\n"[..],
            ":1: no begin, gen or noise line before it",
        ),
        (b"# x\nfrob\n", ":2: unknown kind of line"),
        (
            b"begin cipher=des concurrent=1\n",
            ":1: cipher= is malformed",
        ),
        (b"begin cipher=aes\n", ":1: concurrent= is missing"),
        (
            b"begin cipher=aes concurrent=1\nread n=1073741825\n",
            ":2: a read of more than 1 GiB, or samples of more than 1 MiB",
        ),
        (b"#\n#\n\xff\n", ":3: is not text"),
    ] {
        std::fs::write(&file.0, text).unwrap();
        for check in ["", "--check"] {
            let output = run(&format!("replay {check} {}", file.path()));
            assert_eq!(output.status.code(), Some(2), "{expected}");
            assert_eq!(
                stderr(&output),
                format!("wellspring: {}{expected}\n", file.path())
            );
        }
    }
}
