//! The functions answer as the originals do, in every context.

use crate::common::{compile, run};
use wellspring_interpose::door_counters::Door;

#[test]
fn every_flag_length_and_pointer_gets_the_kernels_answer() {
    let Some(program) = compile("semantics.c", &[]) else {
        return;
    };
    let run = run("exec \"$PROGRAM\"", &program).succeeds();
    // 17 flags with ten lengths and three good starts: valid calls were served.
    assert!(run.counts(Door::Getrandom).calls > 100, "{}", run.text());
    assert!(run.counts(Door::Getentropy).calls >= 1);
}

#[test]
fn every_context_is_served() {
    let Some(program) = compile("contexts.c", &[]) else {
        return;
    };
    for context in [
        "before",
        "handler",
        "cancels",
        "sandbox",
        "sandbox_by_syscall",
    ] {
        let run = run(&format!("exec \"$PROGRAM\" {context}"), &program);
        assert!(run.output.status.success(), "{context}: {}", run.text());
        let counts = run.counts(Door::Getrandom);
        assert!(
            counts.calls >= 1 && counts.bytes >= 16,
            "{context}: {counts:?}"
        );
        let threads = if context == "cancels" { 9 } else { 1 };
        assert!(counts.threads >= threads, "{context}: {counts:?}");
    }
}

#[test]
fn a_call_that_fails_within_a_read_leaves_errno_as_it_was() {
    let Some(program) = compile("errno.c", &[]) else {
        return;
    };
    let run = run("exec \"$PROGRAM\"", &program).succeeds();
    assert_eq!(run.counts(Door::Getrandom).calls, 2, "{}", run.text());
}
