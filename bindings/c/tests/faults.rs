//! Every system call of a program's first calls fails: once, and each time. A call returns bytes or an error of the header;
//! it ends in no signal and waits for nothing without end. When the fault is over, all works.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use core::ffi::c_int;
use core::ptr;
use testkit::faults::{self, open_files};
use testkit::process::{Fork, Shared, start};
use testkit::repeats::assert_nothing_in_common;
use testkit::tracer::{self, Choose, End, counted};
use wellspring_c::edge::{WS_NO_MEMORY, WS_NOT_SEEDED, WS_OK};
use wellspring_c::engine::{
    ws_diverge_from_clones, ws_mix, ws_prepare_for_sandbox, ws_reseed, ws_rng_fill, ws_rng_free,
    ws_rng_new, ws_stats,
};
use wellspring_c::fill::{ws_fill, ws_try_fill, ws_uuid7};

/// The most runs by default.
const MAX_RUNS: usize = 60;

const REPORT_BYTES: usize = 2000;

/// A run that takes longer hangs.
const RUN_SECONDS: u32 = 60;

/// The first reads of the process, of a generator, of a thread and of a child, and reads after all faults.
const READERS: usize = 6;

/// A call while a system call may fail. If it returns an error, it works without the fault.
fn call(mut function: impl FnMut() -> c_int) {
    let answer = counted(&mut function);
    let is_known = [WS_OK, WS_NO_MEMORY, WS_NOT_SEEDED].contains(&answer);
    assert!(is_known, "{answer}");
    if answer != WS_OK {
        assert_eq!(function(), WS_OK);
    }
}

/// SAFETY of all calls here: the pointers are to values that live through the calls.
fn fill(bytes: &mut [u8]) {
    // SAFETY: see above.
    call(|| unsafe { ws_fill(bytes.as_mut_ptr().cast(), bytes.len()) });
}

/// The work of each traced process.
fn run(report: &mut [u8]) {
    // SAFETY: the signal ends this process.
    unsafe { libc::alarm(RUN_SECONDS) };
    let mut reports = report.chunks_mut(REPORT_BYTES);
    let mut next = || reports.next().unwrap();
    let files = open_files();
    fill(next());
    let mut rng = ptr::null_mut();
    // SAFETY: see `fill`.
    unsafe {
        call(|| ws_rng_new(&raw mut rng));
        let bytes = next();
        call(|| ws_rng_fill(rng, bytes.as_mut_ptr().cast(), bytes.len()));
        ws_rng_free(rng);
        let mut stats = ws_stats::default();
        call(|| ws_stats(&raw mut stats, size_of::<ws_stats>()));
        call(|| ws_mix(b"data".as_ptr().cast(), 4));
        let mut id = [0; 16];
        call(|| ws_uuid7(id.as_mut_ptr()));
    }
    call(|| ws_reseed());
    call(|| ws_diverge_from_clones());
    let report = next();
    std::thread::scope(|scope| {
        scope.spawn(|| fill(report));
    });
    // The handlers of fork(3), too.
    let report = next();
    // SAFETY: the child draws, and ends.
    let child = counted(|| unsafe { libc::fork() });
    if child == 0 {
        testkit::process::run_and_exit(|| fill(report));
    }
    // The injected fault may have hit fork itself.
    let child = if child < 0 {
        start(Fork::Library, || fill(report))
    } else {
        testkit::process::Child(child)
    };
    child.join();
    fill(next());
    assert_eq!(open_files(), files);
    call(|| ws_prepare_for_sandbox());
    let report = next();
    // SAFETY: see `fill`.
    call(|| unsafe { ws_try_fill(report.as_mut_ptr().cast(), report.len()) });
}

fn check(choose: Choose<'_>, what: &str) -> bool {
    let mut report = Shared::new(READERS * REPORT_BYTES);
    let end = tracer::run(|| run(report.bytes()), choose);
    if end == End::Untraceable {
        return false;
    }
    assert_eq!(end, End::Good, "{what}");
    let reports: Vec<&[u8]> = report.bytes().chunks(REPORT_BYTES).collect();
    assert_nothing_in_common(&reports, what);
    true
}

fn whatever_call_fails_once_there_are_bytes_or_an_error() {
    let mut calls = Vec::new();
    let record = &mut |call| {
        calls.push(call);
        None
    };
    if !check(record, "no fault") {
        return testkit::skipped("ptrace is not permitted");
    }
    let faults = faults::of(&calls);
    assert!(faults.len() > 50, "{calls:?}");
    let step = faults::step(&faults, MAX_RUNS);
    for fault in faults.iter().step_by(step) {
        check(&mut fault.make(), &fault.to_string());
    }
    println!(
        "{} calls, {} faults, every {step}. made",
        calls.len(),
        faults.len()
    );
}

/// A sandbox or a kernel that has no such call.
fn whatever_call_fails_each_time_there_are_bytes_or_an_error() {
    let mut calls = Vec::new();
    let record = &mut |call| {
        calls.push(call);
        None
    };
    if !check(record, "no fault") {
        return testkit::skipped("ptrace is not permitted");
    }
    let kinds = faults::of_each_kind(&calls);
    for &(refused, error) in &kinds {
        let what = format!("call {refused} always fails with {error}");
        check(&mut |call| (call == refused).then_some(error), &what);
    }
    println!("{} kinds of calls and errors", kinds.len());
}

fn a_process_that_may_not_ask_the_system_gets_an_error_and_does_not_wait() {
    let mut answers = Shared::new(2);
    start(Fork::RawClone, || {
        let forbidden = testkit::filter::Forbidden::Fails(libc::EPERM);
        if !testkit::filter::forbid(&[libc::SYS_getrandom], forbidden) {
            return;
        }
        let mut bytes = [0_u8; 32];
        // SAFETY: see `fill`.
        let filled = unsafe {
            [
                ws_fill(bytes.as_mut_ptr().cast(), bytes.len()),
                ws_try_fill(bytes.as_mut_ptr().cast(), bytes.len()),
            ]
        };
        assert_eq!(bytes, [0; 32], "nothing was written");
        answers
            .bytes()
            .copy_from_slice(&filled.map(|answer| answer as u8));
    })
    .join();
    if answers.bytes() == [0; 2] {
        return testkit::skipped("no seccomp filter can be installed here");
    }
    assert_eq!(answers.bytes(), [WS_NOT_SEEDED as u8; 2]);
}

/// One test, so that no other thread starts meanwhile: the children are made by a raw clone(2), in which a lock of malloc(3)
/// that another thread held would stay locked.
#[test]
fn first_calls_survive_every_fault() {
    whatever_call_fails_once_there_are_bytes_or_an_error();
    whatever_call_fails_each_time_there_are_bytes_or_an_error();
    a_process_that_may_not_ask_the_system_gets_an_error_and_does_not_wait();
}
