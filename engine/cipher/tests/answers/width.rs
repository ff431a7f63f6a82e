//! The widths for which work is compiled.

use std::collections::HashSet;
use std::panic::catch_unwind;
use wellspring_cipher::{SimdTask, Width};

/// Work whose result says that it was done, and on what.
struct Sum<'a>(&'a [u64]);

impl SimdTask for Sum<'_> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        self.0.iter().sum()
    }
}

fn available() -> impl Iterator<Item = Width> {
    let available = |width: &Width| width.is_available();
    Width::ALL.iter().copied().filter(available)
}

#[test]
fn work_is_done_at_every_width() {
    let words: Vec<u64> = (0..1000).collect();
    for width in available() {
        assert_eq!(width.run(Sum(&words)), 499_500, "{width}");
    }
}

#[test]
fn detect_gives_the_first_available_width() {
    assert_eq!(Some(Width::detect()), available().next());
}

#[test]
fn every_machine_has_a_width() {
    assert_eq!(Width::ALL.last(), Some(&Width::Portable));
    assert!(Width::Portable.is_available());
}

#[test]
fn every_width_has_a_name_of_its_own() {
    let names: HashSet<_> = Width::ALL.iter().map(|width| width.to_string()).collect();
    assert_eq!(names.len(), Width::ALL.len());
}

#[test]
fn a_width_the_cpu_lacks_is_refused_before_it_runs() {
    for width in Width::ALL.iter().filter(|width| !width.is_available()) {
        let run = catch_unwind(|| width.run(Sum(&[1])));
        assert!(run.is_err(), "work ran at {width} on a CPU that lacks it");
    }
}
