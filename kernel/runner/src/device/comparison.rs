//! A call on both files, and what it returned.

use crate::open::DEVICE;
use crate::probes::{Cliff, Returned};
use crate::test::{Stop, broken};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};

/// The device that it is compared with.
pub(super) const MODEL: &str = "/dev/urandom";

pub(super) const PAGE_BYTES: usize = 4096;

pub(super) fn open_with(path: &str, flags: OFlags) -> Result<OwnedFd, Stop> {
    let file = open(path, flags | OFlags::CLOEXEC, Mode::empty());
    file.map_err(|error| broken(path, error))
}

/// Calls made on both files, and how many there were.
pub(super) struct Comparison {
    pub(super) device: OwnedFd,
    model: OwnedFd,
    pub(super) calls: u32,
}

impl Comparison {
    pub(super) fn new(flags: OFlags) -> Result<Self, Stop> {
        Ok(Self {
            device: open_with(DEVICE, flags)?,
            model: open_with(MODEL, flags)?,
            calls: 0,
        })
    }

    pub(super) fn call(
        &mut self,
        name: &str,
        call: impl Fn(BorrowedFd<'_>) -> Returned,
    ) -> Result<Returned, Stop> {
        self.call_up_to(0, name, call)
    }

    /// A call whose memory ends after this many bytes. On arm64 any part of them may be copied: the kernel copies in steps,
    /// and the address of its own buffer sets where a step begins.
    pub(super) fn call_up_to(
        &mut self,
        end: usize,
        name: &str,
        call: impl Fn(BorrowedFd<'_>) -> Returned,
    ) -> Result<Returned, Stop> {
        let (ours, theirs) = (call(self.device.as_fd()), call(self.model.as_fd()));
        self.calls += 1;
        let is_part = |Returned(of)| of.is_ok_and(|bytes| (1..=end as i64).contains(&bytes));
        let are_parts = is_part(ours) && is_part(theirs);
        if ours == theirs || cfg!(target_arch = "aarch64") && are_parts {
            Ok(ours)
        } else {
            Err(Stop::Failed(format!(
                "{name} returns {ours}, of {MODEL} {theirs}"
            )))
        }
    }

    pub(super) fn figures(&self) -> String {
        format!("{} calls as {MODEL}", self.calls)
    }
}

pub(super) fn cliff(good: usize, bad: usize, protection: i32) -> Result<Cliff, Stop> {
    Cliff::new(good, bad, protection).map_err(|error| broken("memory", error))
}
