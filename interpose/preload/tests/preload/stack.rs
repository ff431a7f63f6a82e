//! The first read of a process in a signal handler, on a stack of its own.

use crate::common::{compile, run};
use std::path::Path;
use wellspring_interpose::door_counters::Door;

/// The most that a read may take, as SECURITY.md promises it for optimised code.
const MAX_BYTES: usize = if cfg!(debug_assertions) {
    12 << 10
} else {
    4 << 10
};

/// The size of a signal stack of old: SIGSTKSZ of the C library before 2.34.
const CLASSIC_BYTES: usize = 8192;

fn used(program: &Path, size: usize, what: &str) -> usize {
    let run = run(&format!("exec \"$PROGRAM\" {size} {what}"), program);
    assert!(run.output.status.success(), "{size}: {}", run.text());
    let draws = run.counts(Door::Getrandom).calls;
    assert_eq!(draws, if what == "draw" { 2 } else { 0 }, "{}", run.text());
    let text = String::from_utf8(run.output.stdout).unwrap();
    text.trim().parse().unwrap()
}

#[test]
fn the_first_read_of_a_process_fits_on_a_signal_stack() {
    // The loader finds functions before: it takes as much of a stack as the kernel.
    let Some(program) = compile("stack.c", &["-Wl,-z,now"]) else {
        return;
    };
    let (frame, read) = (
        used(&program, 1 << 16, "nothing"),
        used(&program, 1 << 16, "draw"),
    );
    println!("the kernel and the handler take {frame} bytes, with a read {read}");
    assert!(
        read - frame <= MAX_BYTES,
        "{read} bytes, {frame} without a read"
    );
    if cfg!(debug_assertions) {
        return testkit::skipped("8 KiB are promised for optimised code");
    }
    if frame + MAX_BYTES > CLASSIC_BYTES {
        return testkit::skipped("the frame of a signal alone takes most of 8 KiB here");
    }
    used(&program, CLASSIC_BYTES, "draw");
}
