//! The functions answer as the originals do, in every context.

mod common;

use common::{compile, is_installed, run};
use std::path::Path;
use wellspring_sys::door_counters::Door;

#[test]
fn every_flag_length_and_pointer_gets_the_kernels_answer() {
    let Some(program) = compile("semantics.c") else {
        return;
    };
    let run = run("exec \"$PROGRAM\"", &program).succeeds();
    // 17 flags with ten lengths and three good starts: those that are valid were served.
    assert!(run.counts(Door::Getrandom).calls > 100, "{}", run.text());
    assert!(run.counts(Door::Getentropy).calls >= 1);
}

#[test]
fn every_context_is_served() {
    let Some(program) = compile("contexts.c") else {
        return;
    };
    for context in [
        "before",
        "forks",
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
        let threads = if ["forks", "cancels"].contains(&context) {
            9
        } else {
            1
        };
        assert!(counts.threads >= threads, "{context}: {counts:?}");
    }
}

#[test]
fn devices_are_opened_as_before_where_the_service_has_no_file() {
    let run = run("exec head -c 16 /dev/urandom", Path::new("")).succeeds();
    assert_eq!(run.output.stdout.len(), 16);
    assert_eq!(run.counts(Door::File).calls, 0);
    assert!(run.counters.programs() >= 1);
}

/// A device that gives zeros stands in for the service's file: what was read then shows where it came from.
const SERVICE: &str = "mount -t tmpfs none /run && mkdir -m 755 /run/wellspring";

#[test]
fn devices_are_replaced_where_the_service_has_its_file() {
    // As root only: mknod is not allowed in the name space of another user.
    let enter = "unshare --mount sh -c";
    let service = format!("{SERVICE} && mknod /run/wellspring/files/random c 1 5");
    if !run(&format!("{enter} '{service}'"), Path::new(""))
        .output
        .status
        .success()
    {
        eprintln!("SKIPPED: no device can be made here");
        return;
    }
    let script = |read: &str| format!("{enter} '{service} && {read}'");
    for device in ["/dev/urandom", "/dev/random"] {
        let read = run(&script(&format!("exec head -c 16 {device}")), Path::new("")).succeeds();
        assert_eq!(read.output.stdout, [0; 16], "{device}: {}", read.text());
        assert_eq!(read.counts(Door::File).calls, 1);
    }
    for (program, read) in [
        (
            "python3",
            "python3 -c \"import sys; sys.stdout.buffer.write(open(\\\"/dev/urandom\\\", \\\"rb\\\").read(16))\"",
        ),
        (
            "perl",
            "perl -e \"open(F, q(/dev/urandom)); read(F, \\$x, 16); print \\$x\"",
        ),
    ] {
        if is_installed(program) {
            let read = run(&script(read), Path::new("")).succeeds();
            assert_eq!(read.output.stdout, [0; 16], "{program}: {}", read.text());
        }
    }
    // Another name of the device, and a file that is no device, are left alone.
    let other = run(
        &script("exec head -c 16 /dev/../dev/urandom"),
        Path::new(""),
    )
    .succeeds();
    assert_ne!(other.output.stdout, [0; 16]);
    let file = format!("{SERVICE} && head -c 16 /dev/zero > /run/wellspring/files/random");
    let script = format!("{enter} '{file} && exec head -c 16 /dev/urandom'");
    assert_ne!(
        run(&script, Path::new("")).succeeds().output.stdout,
        [0; 16]
    );
}
