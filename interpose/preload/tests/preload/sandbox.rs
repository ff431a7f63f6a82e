//! Tight places: programs in a seccomp sandbox, first reads on a small signal stack, and first reads in which a system call
//! fails.

use crate::{can_make_devices, compile, compile_shared, library, run, run_with};
use std::path::Path;
use std::process::Command;
use testkit::faults;
use testkit::tracer::{self, Choose, End};
use wellspring_interpose::door_counters::Door;

const ZEROS: &str = "mknod random c 1 5";

fn can_have_filters(program: &Path) -> bool {
    // A filter that allows everything.
    let is_there = run("exec \"$PROGRAM\" listened", program)
        .output
        .status
        .success();
    if !is_there {
        testkit::skipped("no seccomp filter can be installed here");
    }
    is_there
}

/// Runs these steps of `sandbox.c`.
fn steps(steps: &[&str]) {
    steps_with("", steps);
}

/// The same, with variables in the environment: `env NAME=VALUE`.
fn steps_with(variables: &str, steps: &[&str]) {
    let Some(program) = compile("sandbox.c", &[]) else {
        return;
    };
    if !can_have_filters(&program) {
        return;
    }
    for step in steps {
        let run = run(&format!("exec {variables} \"$PROGRAM\" {step}"), &program);
        if run.output.status.code() == Some(77) {
            testkit::skipped("the C library registers no restartable sequences");
            continue;
        }
        assert!(run.output.status.success(), "{step}: {}", run.text());
        assert!(
            run.counts(Door::Getrandom).calls > 0,
            "{step}: nothing was drawn"
        );
    }
}

#[test]
fn a_question_is_no_sandbox_and_takes_none_back() {
    steps(&["asks", "refused_by_a_thread", "listened", "asks_after"]);
}

#[test]
fn a_filter_of_a_child_that_shares_the_memory_is_none_of_its_parents() {
    steps(&[
        "of_a_vfork_child",
        "of_a_vfork_child_of_a_child",
        "of_a_first_vfork_child",
        "after_a_vfork_child_drew",
    ]);
    // As before glibc 2.35, where the parent has drawn.
    let without = "env GLIBC_TUNABLES=glibc.pthread.rseq=0";
    steps_with(
        without,
        &["of_a_vfork_child", "of_a_vfork_child_of_a_child"],
    );
}

#[test]
fn strict_mode_and_a_filter_for_all_threads_leave_reads_without_a_call() {
    steps(&["strict_by_prctl", "strict_by_seccomp", "for_all_threads"]);
}

#[test]
fn children_in_a_sandbox_are_seeded_by_their_parent() {
    steps(&["child"]);
}

#[test]
fn open_makes_one_call_in_a_sandbox() {
    let Some(program) = compile("sandbox.c", &[]) else {
        return;
    };
    if !can_make_devices() || !can_have_filters(&program) {
        return;
    }
    let script = format!("exec {} opens", testkit::programs::quoted(&program));
    let opened = run_with(ZEROS, &script).succeeds();
    // The kernel's bytes, not the bytes of the service's file.
    assert_eq!(opened.output.stdout.len(), 64);
    assert_ne!(opened.output.stdout, [0; 64]);
    assert_eq!(opened.counts(Door::File).calls, 0);
}

// ---- signal stacks ----
// The first read of a process in a signal handler, on a stack of its own.

/// The most that a read may take, as SECURITY.md promises it for optimised code.
const MAX_BYTES: usize = if cfg!(debug_assertions) {
    12 << 10
} else {
    4 << 10
};

/// The size of a signal stack of old: SIGSTKSZ of the C library before 2.34.
const CLASSIC_BYTES: usize = 8192;

fn used(program: &Path, size: usize, what: &str) -> usize {
    let run = run(&format!("exec \"$PROGRAM\" stack {size} {what}"), program);
    assert!(run.output.status.success(), "{size}: {}", run.text());
    let draws = run.counts(Door::Getrandom).calls;
    assert_eq!(draws, if what == "draw" { 2 } else { 0 }, "{}", run.text());
    let text = String::from_utf8(run.output.stdout).unwrap();
    text.trim().parse().unwrap()
}

#[test]
fn the_first_read_of_a_process_fits_on_a_signal_stack() {
    // The loader finds functions before: it takes as much of a stack as the kernel.
    let Some(program) = compile("harsh.c", &["-Wl,-z,now"]) else {
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

// ---- system calls that fail ----
// Whatever system call of a first read fails, the program gets bytes or the kernel's answer, and never a signal.

fn traced(program: &Path, choose: Choose<'_>) -> End {
    let mut command = Command::new(program);
    tracer::run_program(command.env("LD_PRELOAD", library()), choose)
}

#[test]
fn a_call_that_fails_in_a_first_read_ends_no_program() {
    let Some(program) = compile_shared("first.c", &[]) else {
        return;
    };
    let mut calls = Vec::new();
    let end = traced(&program, &mut |call| {
        calls.push(call);
        None
    });
    if end == End::Untraceable {
        return testkit::skipped("ptrace is not permitted");
    }
    assert_eq!(end, End::Good, "no fault");
    let faults = faults::of(&calls);
    assert!(faults.len() > 50, "{calls:?}");
    for fault in &faults {
        assert_eq!(traced(&program, &mut fault.make()), End::Good, "{fault}");
    }
    println!("{} calls, {} faults", calls.len(), faults.len());
}

#[test]
fn a_call_that_always_fails_ends_no_program() {
    let Some(program) = compile_shared("first.c", &[]) else {
        return;
    };
    let mut calls = Vec::new();
    let end = traced(&program, &mut |call| {
        calls.push(call);
        None
    });
    if end == End::Untraceable {
        return testkit::skipped("ptrace is not permitted");
    }
    for (number, error) in faults::of_each_kind(&calls) {
        let end = traced(&program, &mut |call| (call == number).then_some(error));
        assert_eq!(end, End::Good, "every call {number} fails with {error}");
    }
}
