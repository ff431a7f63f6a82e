//! The library in the harsh programs of the C library's tests. They draw by getrandom here.

use crate::{
    UNDER_LIMITS, compile, compile_library, compile_shared, is_installed, is_long, library, run,
    without_proc_and_sys,
};
use std::path::Path;
use std::process::Command;
use wellspring_interpose::door_counters::Door;

/// Runs a script with a program that draws, and expects that it drew on us from `threads` threads.
fn draws(script: &str, program: &Path, threads: u64) {
    let run = run(script, program);
    assert!(run.output.status.success(), "{script}: {}", run.text());
    let counts = run.counts(Door::Getrandom);
    assert!(
        counts.calls >= threads && counts.threads >= threads && counts.bytes >= 16 * threads,
        "{script}: {counts:?}"
    );
}

/// Runs one step of `torture.c`.
fn torture(step: &str, threads: u64) {
    if let Some(program) = compile_shared("torture.c", &[]) {
        draws(&format!("exec \"$PROGRAM\" {step}"), &program, threads);
    }
}

#[test]
fn children_never_repeat_their_parent_while_8_threads_draw() {
    torture("forks", 9);
}

#[test]
fn vfork_and_posix_spawn_do_no_harm() {
    torture("spawns", 1);
}

#[test]
fn a_handler_of_a_10_khz_timer_draws_and_repeats_nothing() {
    torture("timer", 1);
}

#[test]
fn cancelled_threads_leave_no_lock_behind() {
    torture("cancels", 9);
}

#[test]
fn destructors_of_threads_and_of_the_process_draw() {
    torture("destructors", 8);
}

#[test]
fn stacks_of_16_kib_are_enough() {
    torture("small_stacks", 50);
}

/// Runs one step of `harsh.c`.
fn harsh(step: &str) {
    if let Some(program) = compile("harsh.c", &[]) {
        draws(&format!("exec \"$PROGRAM\" {step}"), &program, 1);
    }
}

#[test]
fn a_program_that_closes_all_descriptors_keeps_those_that_it_opens() {
    harsh("closes");
}

#[test]
fn a_child_of_vfork_draws_first() {
    harsh("vforks");
}

#[test]
fn the_first_read_of_a_process_is_that_of_a_thread_with_the_least_stack() {
    harsh("small_stack");
}

#[test]
fn a_system_without_files_does_no_harm() {
    let Some(program) = compile("harsh.c", &["-static-libgcc"]) else {
        return;
    };
    if without_proc_and_sys().is_none() {
        return;
    }
    let hide = "for f in dev proc sys run; do mount -t tmpfs none /$f; done; test ! -e /dev/null";
    let script =
        format!("exec unshare --mount --map-root-user sh -c '{hide} && exec \"$PROGRAM\" draws'");
    draws(&script, &program, 1);
}

#[test]
fn a_library_before_ours_that_replaces_the_same_functions_does_no_harm() {
    let Some(program) = compile_shared("torture.c", &[]) else {
        return;
    };
    let before = compile_library("before.c", &["-ldl"]);
    for step in ["forks", "timer", "small"] {
        let script = format!(
            "export LD_PRELOAD=\"{}:$LD_PRELOAD\"; exec \"$PROGRAM\" {step}",
            testkit::programs::in_list(&before).display()
        );
        draws(&script, &program, 1);
    }
}

#[test]
fn no_file_can_be_opened_and_8_threads_draw() {
    torture("no_descriptors", 8);
}

#[test]
fn a_program_without_memory_draws_on_the_kernel_and_later_on_us() {
    let Some(program) = compile("no_memory.c", &["-ldl"]) else {
        return;
    };
    // From none to more than an engine takes.
    for kib in (0..400).step_by(20).chain([4, 12, 1000]) {
        let script = format!("exec \"$PROGRAM\" address-space {kib}");
        draws(&script, &program, 1);
    }
    let run = run("exec \"$PROGRAM\" locked", &program).succeeds();
    if !run.output.stdout.is_empty() {
        return testkit::skipped("no memory can be locked here");
    }
    assert!(run.counts(Door::Getrandom).calls > 0, "{}", run.text());
}

#[test]
fn tight_limits_do_no_harm() {
    let Some(program) = compile_shared("torture.c", &[]) else {
        return;
    };
    for script in UNDER_LIMITS {
        draws(script, &program, 1);
    }
}

#[test]
fn a_system_without_proc_and_sys_does_no_harm() {
    let Some(program) = compile_shared("torture.c", &[]) else {
        return;
    };
    if let Some(script) = without_proc_and_sys() {
        draws(&script, &program, 1);
    }
}

#[test]
fn loading_and_unloading_while_threads_draw_does_no_harm() {
    let Some(program) = compile_shared("reload.c", &["-ldl"]) else {
        return;
    };
    // Not preloaded: here dlopen(3) loads it and dlclose(3) lets it go.
    let words = [library().into_os_string(), "arc4random_buf".into()];
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn address_sanitizer_finds_nothing() {
    if !is_long("it takes seconds") {
        return;
    }
    // Its functions lie in the program. As a library it would have to come before ours, which then would not be called.
    let words = [
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-static-libasan",
        "-static-libubsan",
    ];
    let Some(program) = compile_shared("torture.c", &words) else {
        return;
    };
    // Without forks: see the C library's test.
    for (step, threads) in [("timer", 1), ("cancels", 9), ("destructors", 8)] {
        draws(&format!("exec \"$PROGRAM\" {step}"), &program, threads);
    }
}

/// It knows no mlock2(2), and would print a warning at each.
#[test]
fn valgrind_knows_every_system_call() {
    if !is_installed("valgrind") {
        return;
    }
    if let Some(program) = compile_shared("torture.c", &[]) {
        let run = run(
            "exec valgrind --quiet --error-exitcode=9 \"$PROGRAM\" small",
            &program,
        )
        .succeeds();
        assert!(!run.text().contains("unhandled"), "{}", run.text());
        assert!(run.counts(Door::Getrandom).calls > 0);
    }
}

#[test]
fn valgrind_finds_nothing() {
    if !is_long("it takes seconds") || !is_installed("valgrind") {
        return;
    }
    if let Some(program) = compile_shared("torture.c", &[]) {
        for (step, threads) in [("destructors", 8), ("small", 1)] {
            let script = format!("exec valgrind --quiet --error-exitcode=9 \"$PROGRAM\" {step}");
            draws(&script, &program, threads);
        }
    }
}
