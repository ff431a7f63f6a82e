//! The device files of the module and of its tests.

use crate::failure::Failure;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

/// The device file of the module.
pub(super) const DEVICE: &str = "/dev/wellspring";

/// The device file of the module of its tests.
pub(super) const TEST_DEVICE: &str = "/dev/wellspring-test";

/// Opens a device file. If there is none, the module is not loaded.
pub(super) fn open_device(path: &str, module: &str) -> Result<OwnedFd, Failure> {
    match open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => Ok(file),
        Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => Err(Failure::NoModule(format!(
            "the kernel module {module} is not loaded: there is no {path}"
        ))),
        Err(error) => Err(Failure::work(format!("{path}: {error}"))),
    }
}
