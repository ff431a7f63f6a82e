//! `bytes --each-line` answers every line at once.

use crate::common::{run, stderr, wellspring};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

#[test]
fn a_line_is_answered_before_the_next_is_written_and_no_answer_comes_twice() {
    let mut command = wellspring("bytes 16 --hex --each-line");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut asks = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    // More than a tap's buffer holds.
    for _ in 0..500 {
        asks.write_all(b"again\n").unwrap();
        let answer = answers.next().unwrap().unwrap();
        assert_eq!(answer.len(), 32);
        seen.push(answer);
    }
    drop(asks);
    assert!(answers.next().is_none(), "an answer without a question");
    assert!(child.wait().unwrap().success());
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 500);
}

#[test]
fn an_input_without_lines_gets_nothing_and_a_stream_is_cut_into_answers() {
    assert_eq!(run("bytes 16 --each-line").stdout, b"");
    let stream = "bytes 8 --each-line --hex --pseudo xoshiro256++ --seed 7";
    let mut child = wellspring(stream)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"\n\nhalf a line")
        .unwrap();
    let answers = child.wait_with_output().unwrap().stdout;
    let whole = run("bytes 24 --hex --pseudo xoshiro256++ --seed 7").stdout;
    let answers: String = String::from_utf8(answers).unwrap().split('\n').collect();
    assert_eq!(answers, String::from_utf8(whole).unwrap().trim_end());
}

#[test]
fn an_answer_has_a_size_and_a_bound() {
    for wrong in [
        "bytes --each-line",
        "bytes 2MiB --each-line",
        "bytes 16 --each-line --threads 2",
    ] {
        let output = run(wrong);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{wrong}: {}",
            stderr(&output)
        );
    }
}
