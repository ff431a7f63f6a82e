//! A replay of any lines, in the format of the files in `vectors/`: no panic, and a second replay, which compares with
//! the answers of the first, finds no difference.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wellspring_replay::{Comparison, Replay, ReplayError, run};

fuzz_target!(|data: &[u8]| {
    // A read of a gigabyte is allowed, and slow.
    let is_long = |line: &[u8]| {
        line.starts_with(b"read") && line.windows(7).any(|w| w.iter().all(u8::is_ascii_digit))
    };
    if data
        .split(|&byte| byte == b'\n')
        .any(|line| is_long(line.trim_ascii_start()))
    {
        return;
    }
    let mut answered = Vec::new();
    let result = run(Replay::new(), data, |_, line, answer| {
        answered.push((line.to_owned(), answer.clone()))
    });
    if let Err((number, error)) = result {
        assert!(
            number >= 1
                && (error != ReplayError::Unreadable || core::str::from_utf8(data).is_err())
        );
        return;
    }
    // The second replay: each question is replaced by its answer, which must come again.
    let Ok(text) = core::str::from_utf8(data) else {
        return;
    };
    let mut answers = answered.iter();
    let mut next = answers.next();
    let mut filled = String::new();
    for line in text.lines() {
        match next {
            Some((question, answer)) if question == line => {
                let length = line
                    .split_whitespace()
                    .find(|field| field.starts_with("n="));
                filled += &answer.text;
                if let Some(length) = length.filter(|_| !answer.text.contains("n=")) {
                    filled += " ";
                    filled += length;
                }
                next = answers.next();
            }
            _ => filled += line,
        }
        filled.push('\n');
    }
    let result = run(Replay::new(), filled.as_bytes(), |_, line, answer| {
        assert_ne!(answer.comparison, Comparison::Different, "{line}");
    });
    assert!(result.is_ok(), "{result:?}\n{filled}");
});
