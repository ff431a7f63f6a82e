//! The kernel module `wellspring`, from outside.
//!
//! ```text
//! ioctl      its ioctls and those of its tests                                   [unsafe: what the kernel writes]
//! tests      check --kernel: what the module's own tests say
//! pipeline   its Fortuna, for vector files
//! probes     calls with bad arguments, asked of random(4) as well                [unsafe: bad arguments]
//! device     check --kernel: its device file does what random(4)'s does
//! seeds      kernel save FILE, kernel restore FILE
//! ```

mod device;
mod ioctl;
mod pipeline;
mod probes;
mod seeds;
mod tests;

pub(crate) use seeds::{KernelRequest, run};

use crate::check::Check;
use crate::failure::Failure;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

/// The device file of the module.
const DEVICE: &str = "/dev/wellspring";

/// The device file of the module of its tests.
const TEST_DEVICE: &str = "/dev/wellspring-test";

/// All tests of the module, those of its device file first.
pub(crate) fn checks() -> Result<Vec<Check>, Failure> {
    let tests = open_device(TEST_DEVICE, "wellspring_test")?;
    open_device(DEVICE, "wellspring")?;
    let mut checks = device::checks();
    checks.extend(pipeline::checks());
    checks.extend(tests::checks(tests)?);
    Ok(checks)
}

/// Opens a device file; without it, the module is not there.
fn open_device(path: &str, module: &str) -> Result<OwnedFd, Failure> {
    match open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => Ok(file),
        Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => Err(Failure::NoModule(format!(
            "the kernel module {module} is not loaded: there is no {path}"
        ))),
        Err(error) => Err(Failure::work(format!("{path}: {error}"))),
    }
}
