//! Every system call that the library makes may fail: then reads succeed or return an error, no bytes come twice, and
//! no file or mapping is left open.
//!
//! A run builds an engine with a seed file, reads from it, also on a thread and in a child, reseeds it and drops it. A
//! tracer makes one call of the run fail. After that everything must work again at full speed. By default the test
//! makes up to 60 runs, with faults spread evenly over all calls and errors; with `WELLSPRING_LONG=1` one for every
//! call and every error.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod common;

use common::faults::{self, Folder, open_files};
use common::process::{Fork, Shared, mappings, start};
use common::repeats::assert_nothing_in_common;
use common::tracer::{self, End, counted, silent_once};
use std::path::Path;
use wellspring::{Engine, Error};

/// The most runs by default.
const MAX_RUNS: usize = 60;

const SHORT_BYTES: usize = 48;
const LONG_BYTES: usize = 6000;

/// The bytes that one reader draws.
const REPORT_BYTES: usize = SHORT_BYTES + LONG_BYTES;

/// The number of readers: the engine twice, its owned generator, a thread, a child, the engine after the child, the
/// engine after all faults.
const READERS: usize = 7;

/// The size of two numbers that a run reports before its bytes: the files that it left open, and its mappings.
const COUNTS_BYTES: usize = 16;

fn build(folder: &Path) -> Result<Engine, Error> {
    Engine::builder().seed_file(folder.join("seed")).build()
}

/// Reads while a call may fail. If the read fails, reads again while no call fails.
fn read(mut try_fill: impl FnMut(&mut [u8]) -> Result<(), Error>, report: &mut [u8]) {
    let (short, long) = report.split_at_mut(SHORT_BYTES);
    for destination in [short, long] {
        if let Err(error) = counted(|| try_fill(destination)) {
            assert_eq!(error, Error::NotSeeded);
            assert!(destination.iter().all(|&byte| byte == 0), "untouched");
            try_fill(destination).unwrap();
        }
    }
}

/// The work of each traced process.
fn run(folder: &Path, report: &mut [u8]) {
    let (counts, reports) = report.split_at_mut(COUNTS_BYTES);
    let mut reports = reports.chunks_mut(REPORT_BYTES);
    let mut next = || reports.next().unwrap();
    let files = open_files();
    let built = counted(|| build(folder));
    let engine = built.or_else(|_| build(folder)).unwrap();
    read(|bytes| engine.try_fill(bytes), next());
    let _ = counted(|| engine.reseed());
    counted(|| engine.diverge_from_clones());
    read(|bytes| engine.try_fill(bytes), next());
    let mut rng = engine.rng();
    read(|bytes| rng.try_fill(bytes), next());
    let report = next();
    std::thread::scope(|scope| {
        scope.spawn(|| read(|bytes| engine.try_fill(bytes), report));
    });
    let report = next();
    start(Fork::Library, || {
        read(|bytes| engine.try_fill(bytes), report)
    })
    .join();
    read(|bytes| engine.try_fill(bytes), next());
    let _ = counted(|| engine.save_seed());
    let report = next();
    engine.fill(report);
    silent_once(
        &mut (),
        |()| {
            engine.fill(&mut [0; LONG_BYTES]);
            engine.fill(&mut [0; 8]);
        },
        |()| (0..25).for_each(|_| engine.fill(&mut [0; 32])),
    );
    counted(|| drop((rng, engine)));
    let numbers = [open_files() - files, mappings()];
    for (place, number) in counts.chunks_mut(8).zip(numbers) {
        place.copy_from_slice(&(number as u64).to_ne_bytes());
    }
}

/// Runs with one fault or without a fault, and checks what holds after every run. Returns how many mappings are left.
fn check(folder: &Folder, choose: tracer::Choose<'_>, what: impl Fn() -> String) -> Option<u64> {
    let mut report = Shared::new(COUNTS_BYTES + READERS * REPORT_BYTES);
    let folder = folder.empty();
    let end = tracer::run(|| run(folder, report.bytes()), choose);
    if end == End::Untraceable {
        return None;
    }
    assert_eq!(end, End::Good, "{}", what());
    let (counts, reports) = report.bytes().split_at(COUNTS_BYTES);
    let readers: Vec<&[u8]> = reports.chunks(REPORT_BYTES).collect();
    assert_nothing_in_common(&readers, &what());
    let number = |at: usize| u64::from_ne_bytes(counts[at..at + 8].try_into().unwrap());
    assert_eq!(number(0), 0, "open files are left: {}", what());
    Some(number(8))
}

#[test]
fn whatever_call_fails_reads_go_on_and_nothing_comes_twice_or_is_lost() {
    let folder = Folder::new("faults");
    let mut calls = Vec::new();
    let record = &mut |call| {
        calls.push(call);
        None
    };
    let Some(mappings) = check(&folder, record, || "no fault".into()) else {
        return common::skipped("ptrace is not permitted");
    };
    let faults = faults::of(&calls);
    assert!(faults.len() > 50, "{calls:?}");
    let step = faults::step(&faults, MAX_RUNS);
    for fault in faults.iter().step_by(step) {
        let what = || fault.to_string();
        let left = check(&folder, &mut fault.make(), what).unwrap();
        // Memory that could not be mapped at first may be mapped later, as a separate mapping.
        assert!(
            left <= mappings + 4,
            "{}: {left} mappings, not {mappings}",
            what()
        );
    }
    println!(
        "{} calls, {} faults, every {step}. made",
        calls.len(),
        faults.len()
    );
}
