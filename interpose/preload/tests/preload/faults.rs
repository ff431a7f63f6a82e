//! Whatever system call of a first read fails, the program gets bytes or the kernel's answer, and never a signal.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use crate::common::{compile_shared, library};
use std::path::Path;
use std::process::Command;
use testkit::faults;
use testkit::tracer::{self, Choose, End};

fn run(program: &Path, choose: Choose<'_>) -> End {
    let mut command = Command::new(program);
    tracer::run_program(command.env("LD_PRELOAD", library()), choose)
}

#[test]
fn a_call_that_fails_in_a_first_read_ends_no_program() {
    let Some(program) = compile_shared("first.c", &[]) else {
        return;
    };
    let mut calls = Vec::new();
    let end = run(&program, &mut |call| {
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
        assert_eq!(run(&program, &mut fault.make()), End::Good, "{fault}");
    }
    println!("{} calls, {} faults", calls.len(), faults.len());
}

#[test]
fn a_call_that_always_fails_ends_no_program() {
    let Some(program) = compile_shared("first.c", &[]) else {
        return;
    };
    let mut calls = Vec::new();
    let end = run(&program, &mut |call| {
        calls.push(call);
        None
    });
    if end == End::Untraceable {
        return testkit::skipped("ptrace is not permitted");
    }
    for (number, error) in faults::of_each_kind(&calls) {
        let end = run(&program, &mut |call| (call == number).then_some(error));
        assert_eq!(end, End::Good, "every call {number} fails with {error}");
    }
}
