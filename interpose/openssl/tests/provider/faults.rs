//! Whatever system call of a first draw fails, the program gets bytes or OpenSSL's error, and never a signal; when the fault is
//! over, it gets bytes.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use crate::common::{compile, configuration};
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
