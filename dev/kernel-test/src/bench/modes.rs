//! The module's mode, set for a while.

use crate::open::Failure;
use std::fs;

/// The parameter of the module.
const PARAMETER: &str = "/sys/module/wellspring/parameters/mode";

/// A device or a mode that is measured. The first is the system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// `/dev/urandom`.
    Urandom,
    /// `/dev/wellspring` in this mode.
    Mode(&'static str),
}

impl Subject {
    /// All, in the order of the columns.
    pub(super) const ALL: [Subject; 5] = [
        Subject::Urandom,
        Subject::Mode("canonical"),
        Subject::Mode("concurrent"),
        Subject::Mode("per-node"),
        Subject::Mode("per-cpu"),
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Subject::Urandom => "/dev/urandom",
            Subject::Mode(name) => name,
        }
    }
}

/// Puts the mode that it found back when it is dropped.
pub(super) struct ModeGuard {
    former: String,
}

impl ModeGuard {
    pub(super) fn new() -> Result<Self, Failure> {
        let former = fs::read_to_string(PARAMETER).map_err(fault)?;
        let guard = Self {
            former: former.trim().to_owned(),
        };
        // Before anything is measured: only root may set it.
        fs::write(PARAMETER, &guard.former).map_err(fault)?;
        Ok(guard)
    }

    /// Sets the mode that a subject is read in.
    pub(super) fn set(&self, subject: Subject) -> Result<(), Failure> {
        match subject {
            Subject::Urandom => Ok(()),
            Subject::Mode(name) => fs::write(PARAMETER, name).map_err(fault),
        }
    }
}

impl Drop for ModeGuard {
    fn drop(&mut self) {
        let _ = fs::write(PARAMETER, &self.former);
    }
}

fn fault(error: std::io::Error) -> Failure {
    Failure::work(PARAMETER, error)
}
