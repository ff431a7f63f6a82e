//! The subjects of the measurement: the system's device, and the module's in each of its modes.

use crate::open::Failure;
use std::fs;

/// `/dev/urandom`, and the modes of `/dev/wellspring`, in the order of the columns.
pub(super) const SUBJECTS: [&str; 5] = [
    "/dev/urandom",
    "canonical",
    "concurrent",
    "per-node",
    "per-cpu",
];

/// The parameter of the module.
const PARAMETER: &str = "/sys/module/wellspring/parameters/mode";

/// Sets modes, and puts the mode that it found back when it is dropped.
pub(super) struct ModeGuard {
    former: String,
}

impl ModeGuard {
    pub(super) fn new() -> Result<Self, Failure> {
        let former = fs::read_to_string(PARAMETER);
        let former = former.map_err(|error| Failure::work(PARAMETER, error))?;
        let guard = Self {
            former: former.trim().to_owned(),
        };
        // Before anything is measured: only root may set it.
        guard.set(&guard.former)?;
        Ok(guard)
    }

    pub(super) fn set(&self, mode: &str) -> Result<(), Failure> {
        fs::write(PARAMETER, mode).map_err(|error| Failure::work(PARAMETER, error))
    }
}

impl Drop for ModeGuard {
    fn drop(&mut self) {
        let _ = fs::write(PARAMETER, &self.former);
    }
}
