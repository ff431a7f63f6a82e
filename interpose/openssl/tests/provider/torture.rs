//! The provider in the harsh programs of the C library's tests. They draw from a generator of the provider here.

use crate::{UNDER_LIMITS, compile, configuration, is_long, run, without_proc_and_sys};
use std::path::Path;
use wellspring_interpose::door_counters::Door;

const TORTURE: &str = "../../bindings/c/tests/c/torture.c";
const CONTEXTS: &str = "tests/c/contexts.c";

/// Runs a script with a program that draws, and expects that it drew on us from `threads` threads.
fn draws(script: &str, program: &Path, threads: u64) {
    let script = format!(
        "PROGRAM={}; export PROGRAM; {script}",
        testkit::programs::quoted(program)
    );
    let run = run(&script, &configuration(|text| text));
    assert!(run.output.status.success(), "{script}: {}", run.text());
    let counts = run.counts(Door::Provider);
    assert!(
        counts.calls >= threads && counts.threads >= threads && counts.bytes >= 16 * threads,
        "{script}: {counts:?}"
    );
}

/// Runs one step of a program.
fn step(source: &str, step: &str, threads: u64) {
    if let Some(program) = compile(source, &[]) {
        draws(&format!("exec \"$PROGRAM\" {step}"), &program, threads);
    }
}

#[test]
fn children_never_repeat_their_parent_while_8_threads_draw() {
    step(TORTURE, "forks", 9);
}

#[test]
fn vfork_and_posix_spawn_do_no_harm() {
    step(TORTURE, "spawns", 1);
}

#[test]
fn a_handler_of_a_10_khz_timer_draws_and_repeats_nothing() {
    step(TORTURE, "timer", 1);
}

#[test]
fn cancelled_threads_leave_no_lock_behind() {
    step(TORTURE, "cancels", 9);
}

#[test]
fn destructors_of_threads_and_of_the_process_draw() {
    step(TORTURE, "destructors", 8);
}

#[test]
fn stacks_of_16_kib_are_enough() {
    step(TORTURE, "small_stacks", 50);
}

#[test]
fn no_file_can_be_opened_and_8_threads_draw() {
    step(TORTURE, "no_descriptors", 8);
}

#[test]
fn threads_load_the_provider_and_let_it_go() {
    step(CONTEXTS, "loads", 8);
}

#[test]
fn each_request_with_prediction_resistance_is_a_reseed() {
    step(CONTEXTS, "prediction_resistance", 1);
}

#[test]
fn null_pointers_absurd_lengths_and_strengths_give_an_error_and_no_harm() {
    step(CONTEXTS, "bad_input", 1);
}

#[test]
fn tight_limits_do_no_harm() {
    let Some(program) = compile(TORTURE, &[]) else {
        return;
    };
    for script in UNDER_LIMITS {
        draws(script, &program, 1);
    }
}

#[test]
fn a_system_without_proc_and_sys_does_no_harm() {
    let Some(program) = compile(TORTURE, &[]) else {
        return;
    };
    if let Some(script) = without_proc_and_sys() {
        draws(&script, &program, 1);
    }
}

#[test]
fn address_sanitizer_finds_nothing() {
    if !is_long("it takes seconds") {
        return;
    }
    let words = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    // Without forks: see the C library's test.
    for (source, step, threads) in [
        (TORTURE, "timer", 1),
        (TORTURE, "cancels", 9),
        (TORTURE, "destructors", 8),
        (CONTEXTS, "loads", 8),
        (CONTEXTS, "bad_input", 1),
    ] {
        if let Some(program) = compile(source, &words) {
            draws(&format!("exec \"$PROGRAM\" {step}"), &program, threads);
        }
    }
}

#[test]
fn valgrind_finds_nothing() {
    if !is_long("it takes seconds") || !crate::are_installed(&["valgrind"]) {
        return;
    }
    for (source, step, threads) in [(TORTURE, "destructors", 8), (CONTEXTS, "bad_input", 1)] {
        if let Some(program) = compile(source, &[]) {
            let script = format!("exec valgrind --quiet --error-exitcode=9 \"$PROGRAM\" {step}");
            draws(&script, &program, threads);
        }
    }
}

/// Whatever system call of a first draw fails, the program gets bytes or OpenSSL's error, and never a signal; when the fault is
/// over, it gets bytes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod faults {
    use crate::{compile, configuration};
    use std::path::Path;
    use std::process::Command;
    use testkit::faults;
    use testkit::tracer::{self, Choose, End};

    fn run(program: &Path, configuration: &Path, choose: Choose<'_>) -> End {
        let mut command = Command::new(program);
        tracer::run_program(command.env("OPENSSL_CONF", configuration), choose)
    }

    #[test]
    fn a_call_that_fails_once_or_always_in_a_first_draw_ends_no_program() {
        let Some(program) = compile("../../bindings/c/tests/c/first.c", &[]) else {
            return;
        };
        let configuration = configuration(|text| text);
        let mut calls = Vec::new();
        let end = run(&program, &configuration, &mut |call| {
            calls.push(call);
            None
        });
        if end == End::Untraceable {
            return testkit::skipped("ptrace is not permitted");
        }
        assert_eq!(end, End::Good, "no fault");
        // The C library's pthread_once ends the process if the kernel cannot wake threads.
        calls.retain(|&call| call != libc::SYS_futex);
        let faults = faults::of(&calls);
        assert!(faults.len() > 50, "{calls:?}");
        for fault in &faults {
            let end = run(&program, &configuration, &mut fault.make());
            assert_eq!(end, End::Good, "{fault}");
        }
        println!("{} calls, {} faults", calls.len(), faults.len());
        for (number, error) in faults::of_each_kind(&calls) {
            let end = run(&program, &configuration, &mut |call| {
                (call == number).then_some(error)
            });
            assert_eq!(end, End::Good, "every call {number} fails with {error}");
        }
    }
}
