//! The kernel module `wellspring`, from outside.
//!
//! ```text
//! open       its device files
//! ioctl      its ioctls and those of its tests                                   [unsafe: what the kernel writes]
//! tests      check --kernel: what the module's own tests say
//! pipeline   its Fortuna, for vector files
//! probes     calls with bad arguments, asked of random(4) as well                [unsafe: bad arguments]
//! device     check --kernel: its device file does what random(4)'s does
//! seeds      kernel save FILE, kernel restore FILE
//! bench      bench --kernel: what reads from it cost
//! ```

mod bench;
mod device;
mod ioctl;
mod open;
mod pipeline;
mod probes;
mod seeds;
mod tests;

pub(crate) use bench::bench;
pub(crate) use seeds::{KernelRequest, run};

use crate::failure::Failure;
use crate::self_test::Check;
use open::{DEVICE, TEST_DEVICE, open_device};

/// All tests of the module, those of its device file first.
pub(crate) fn checks() -> Result<Vec<Check>, Failure> {
    let tests = open_device(TEST_DEVICE, "wellspring_test")?;
    open_device(DEVICE, "wellspring")?;
    let mut checks = device::checks();
    checks.extend(pipeline::checks());
    checks.extend(tests::checks(tests)?);
    Ok(checks)
}
