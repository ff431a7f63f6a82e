//! A test, its outcome, and its lines: KTAP, the format of the kernel's own tests.
//!
//! ```text
//! KTAP version 1
//! 1..3
//! ok 1 device/files # 12 ms: 40 calls as /dev/urandom
//! not ok 2 nodes # a reader of node 1 got another node's bytes
//! ok 3 rdrand # SKIP this CPU has none
//! # Totals: pass:1 fail:1 skip:1
//! ```

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fmt::Display;
use std::process::ExitCode;
use std::time::Instant;

/// A test.
pub(crate) struct Test {
    name: String,
    run: Box<dyn Fn() -> Outcome>,
}

/// The figures of a test that passed, or why it did not.
pub(crate) type Outcome = Result<String, Stop>;

/// The reason why a test did not pass.
pub(crate) enum Stop {
    Failed(String),
    /// This machine cannot run it.
    Skipped(String),
}

impl Test {
    pub(crate) fn new(name: impl Into<String>, run: impl Fn() -> Outcome + 'static) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether `name` is its name, or the part of it before the slash.
    fn is_called(&self, name: &str) -> bool {
        self.name == name
            || self
                .name
                .split_once('/')
                .is_some_and(|(group, _)| group == name)
    }
}

/// A test that failed because of an error of the system.
pub(crate) fn broken(what: &str, error: impl Display) -> Stop {
    Stop::Failed(format!("{what}: {error}"))
}

/// Passes if no block of 16 bytes occurs twice, and none is all zeros: among a million random blocks two are equal with a
/// probability of about 10^-27.
pub(crate) fn are_distinct(bytes: &[u8]) -> Result<(), Stop> {
    let blocks = bytes.as_chunks().0.iter();
    let mut blocks: Vec<u128> = blocks.map(|&block| u128::from_le_bytes(block)).collect();
    blocks.sort_unstable();
    let repetitions = blocks.windows(2).filter(|pair| pair[0] == pair[1]).count();
    if repetitions > 0 || blocks.first() == Some(&0) {
        return Err(Stop::Failed(format!(
            "of {} blocks of 16 bytes {repetitions} came twice, or one is zero",
            blocks.len()
        )));
    }
    Ok(())
}

/// Runs the tests of these names, or all tests if `names` is empty.
pub(crate) fn run(mut tests: Vec<Test>, names: &[&str]) -> Result<(), Failure> {
    for name in names {
        if !tests.iter().any(|test| test.is_called(name)) {
            let reason = format!("kernel-test: no test is called '{name}' (see --list)");
            return Err(Failure::Usage(reason));
        }
    }
    tests.retain(|test| names.is_empty() || names.iter().any(|name| test.is_called(name)));
    println!("KTAP version 1\n1..{}", tests.len());
    let (mut passes, mut failures, mut skips) = (0, 0, 0);
    for (number, test) in (1..).zip(&tests) {
        let start = Instant::now();
        let outcome = (test.run)();
        let count = match outcome {
            Ok(_) => &mut passes,
            Err(Stop::Failed(_)) => &mut failures,
            Err(Stop::Skipped(_)) => &mut skips,
        };
        *count += 1;
        println!(
            "{}",
            line(number, &test.name, start.elapsed().as_millis(), &outcome)
        );
    }
    println!("# Totals: pass:{passes} fail:{failures} skip:{skips}");
    if failures > 0 {
        return Err(Failure::Tests);
    }
    Ok(())
}

/// The line of a test.
fn line(number: usize, name: &str, time_ms: u128, outcome: &Outcome) -> String {
    let line = match outcome {
        Ok(figures) => format!("ok {number} {name} # {time_ms} ms: {figures}"),
        Err(Stop::Failed(reason)) => format!("not ok {number} {name} # {reason}"),
        Err(Stop::Skipped(reason)) => format!("ok {number} {name} # SKIP {reason}"),
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ").trim_end_matches(':').to_owned()
}

// ---- device files ----
// The device files of the module and of its tests, and the reasons why the program ends.

/// The device file of the module.
pub(crate) const DEVICE: &str = "/dev/wellspring";

/// The device file of the module of its tests.
pub(crate) const TEST_DEVICE: &str = "/dev/wellspring-test";

/// The reason why the program ends.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Status 1; the lines of the tests have said why.
    Tests,
    /// Status 1.
    Work(String),
    /// Wrong arguments: status 2.
    Usage(String),
    /// A module is not loaded: status 3.
    NoModule(String),
}

impl Failure {
    pub(crate) fn work(what: impl Display, error: impl Display) -> Self {
        Self::Work(format!("{what}: {error}"))
    }

    /// Writes the reason to stderr, and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        let (status, reason) = match self {
            Failure::Tests => return ExitCode::FAILURE,
            Failure::Work(reason) => (1, reason),
            Failure::Usage(reason) => (2, reason),
            Failure::NoModule(reason) => (3, reason),
        };
        eprintln!("{reason}");
        ExitCode::from(status)
    }
}

/// Opens a device file. A missing file means that the module is not loaded.
pub(crate) fn open_device(path: &str, module: &str) -> Result<OwnedFd, Failure> {
    match open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => Ok(file),
        Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => Err(Failure::NoModule(format!(
            "kernel-test: the module {module} is not loaded: there is no {path}"
        ))),
        Err(error) => Err(Failure::work(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_one_line_as_ktap_wants_it() {
        let failed = Err(Stop::Failed("two\nlines".into()));
        assert_eq!(line(1, "a/b", 12, &failed), "not ok 1 a/b # two lines");
        let skipped = Err(Stop::Skipped("no CPU".into()));
        assert_eq!(line(2, "a", 12, &skipped), "ok 2 a # SKIP no CPU");
        assert_eq!(
            line(3, "a", 12, &Ok("7 calls\n".into())),
            "ok 3 a # 12 ms: 7 calls"
        );
        assert_eq!(line(3, "a", 12, &Ok(String::new())), "ok 3 a # 12 ms");
    }

    #[test]
    fn a_failed_test_fails_the_run_and_a_skipped_one_does_not() {
        let tests = || {
            let failed = || Err(Stop::Failed("x".into()));
            let skipped = || Err(Stop::Skipped("y".into()));
            vec![
                Test::new("one/a", || Ok(String::new())),
                Test::new("one/b", skipped),
                Test::new("two", failed),
            ]
        };
        assert!(matches!(run(tests(), &[]), Err(Failure::Tests)));
        assert!(run(tests(), &["one"]).is_ok());
        assert!(run(tests(), &["one/b"]).is_ok());
        assert!(matches!(run(tests(), &["on"]), Err(Failure::Usage(_))));
    }

    #[test]
    fn repetitions_and_zeros_are_found() {
        let mut bytes: Vec<u8> = (1..=64).collect();
        assert!(are_distinct(&bytes).is_ok());
        bytes.extend(49..=64);
        assert!(are_distinct(&bytes).is_err());
        assert!(are_distinct(&[0; 16]).is_err());
    }
}
