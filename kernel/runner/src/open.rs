//! The device files of the module and of its tests, and the reasons why the program ends.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fmt::Display;
use std::process::ExitCode;

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
