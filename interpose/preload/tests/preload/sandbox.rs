//! Programs in a seccomp sandbox: the library makes no call that the program did not make, and asking is no sandbox.

use crate::common::{can_make_devices, compile, run, run_with};
use std::path::Path;
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
