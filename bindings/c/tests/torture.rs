//! The library in harsh programs: forks, signals, cancelled threads, unloading, tight limits.

mod common;

use common::{compile, library_folder, run, run_script, succeeds, text};

/// Runs one step of `torture.c`.
fn torture(step: &str) {
    if let Some(program) = compile("torture.c", &[]) {
        succeeds(&run(&program, &[step]));
    }
}

#[test]
fn children_never_repeat_their_parent_while_8_threads_draw() {
    torture("forks");
}

#[test]
fn identifiers_repeat_in_no_child_thread_or_handler() {
    if let Some(program) = compile("torture.c", &["-DDOOR_IDENTIFIERS"]) {
        for step in ["forks", "spawns", "timer", "cancels", "destructors"] {
            succeeds(&run(&program, &[step]));
        }
    }
}

#[test]
fn vfork_and_posix_spawn_do_no_harm() {
    torture("spawns");
}

#[test]
fn a_handler_of_a_10_khz_timer_draws_and_repeats_nothing() {
    torture("timer");
}

#[test]
fn cancelled_threads_leave_no_lock_and_no_tap_behind() {
    torture("cancels");
}

#[test]
fn no_function_is_a_cancellation_point() {
    torture("cancelled_before");
}

#[test]
fn destructors_of_threads_and_of_the_process_draw() {
    torture("destructors");
}

#[test]
fn stacks_of_16_kib_are_enough() {
    torture("small_stacks");
}

#[test]
fn without_memory_there_is_an_error_and_afterwards_bytes() {
    torture("no_memory");
}

#[test]
fn loading_and_unloading_while_threads_draw_does_no_harm() {
    let Some(program) = compile("reload.c", &["-ldl"]) else {
        return;
    };
    let library = library_folder().join("libwellspring.so.0");
    succeeds(&run(&program, &[library.to_str().unwrap(), "ws_fill"]));
}

#[test]
fn what_threads_drew_is_nowhere_in_the_process_in_a_child_and_after_unloading() {
    // Bound at start: the linker's lazy binding writes all registers to the stack, with the last output in some of them.
    let Some(program) = compile("residue.c", &["-ldl", "-Wl,-z,now"]) else {
        return;
    };
    let library = library_folder().join("libwellspring.so.0");
    succeeds(&run(&program, &[library.to_str().unwrap()]));
}

#[test]
fn tight_limits_do_no_harm() {
    let Some(program) = compile("api.c", &[]) else {
        return;
    };
    for limit in ["-l 0", "-v 131072", "-s 128"] {
        succeeds(&run_script(
            &program,
            &format!("ulimit {limit} && exec \"$PROGRAM\""),
        ));
    }
    succeeds(&run(&program, &["descriptors"]));
}

/// As in gVisor, and on Linux before 4.14: threads, children and handlers, which draw meanwhile.
#[test]
fn a_kernel_that_does_not_wipe_a_child_does_no_harm() {
    use testkit::filter::{is_possible, without_wipes};
    if !is_possible() {
        return;
    }
    for (source, steps) in [
        ("api.c", &[""][..]),
        ("torture.c", &["forks", "timer", "cancels", "destructors"]),
    ] {
        let Some(program) = compile(source, &[]) else {
            return;
        };
        for step in steps {
            let mut command = std::process::Command::new("timeout");
            command
                .args(["--signal=KILL", "300"])
                .arg(&program)
                .args(step.split_whitespace())
                .env("LD_LIBRARY_PATH", common::library_folder());
            succeeds(&without_wipes(&mut command).output().unwrap());
        }
    }
}

#[test]
fn a_system_without_proc_and_sys_does_no_harm() {
    let Some(program) = compile("api.c", &[]) else {
        return;
    };
    let enter = "unshare --mount --map-root-user sh -c";
    let hide = "mount -t tmpfs none /proc && mount -t tmpfs none /sys";
    if !run_script(&program, &format!("{enter} '{hide}'"))
        .status
        .success()
    {
        eprintln!("SKIPPED: no file system can be mounted here");
        return;
    }
    let output = run_script(&program, &format!("{enter} '{hide} && exec \"$PROGRAM\"'"));
    assert!(output.status.success(), "{}", text(&output));
}
