//! The tests that the second module runs inside the kernel.

use crate::ioctl::{self, TestName, TestRun};
use crate::open::{Failure, TEST_DEVICE};
use crate::test::{Outcome, Stop, Test, broken};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::rc::Rc;

/// The tests as the module lists them.
pub(crate) fn tests(device: OwnedFd) -> Result<Vec<Test>, Failure> {
    let device = Rc::new(device);
    let mut tests = Vec::new();
    for index in 0.. {
        let mut name = TestName {
            index,
            name: [0; 64],
        };
        match ioctl::list(&*device, &mut name) {
            Ok(()) => {}
            Err(Errno::NXIO) => break,
            Err(error) => return Err(Failure::work(TEST_DEVICE, error)),
        }
        let device = Rc::clone(&device);
        tests.push(Test::new(text(&name.name), move || run(&device, index)));
    }
    Ok(tests)
}

/// Runs test `index` in the module. Returns the module's report.
fn run(device: &OwnedFd, index: u32) -> Outcome {
    let mut test = TestRun {
        index,
        comparison: 1,
        report: [0; 444],
    };
    ioctl::run(device, &mut test).map_err(|error| broken(TEST_DEVICE, error))?;
    let report = text(&test.report);
    match test.comparison {
        0 => Ok(report),
        2 => Err(Stop::Skipped(report)),
        _ => Err(Stop::Failed(report)),
    }
}

/// The text before the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}
