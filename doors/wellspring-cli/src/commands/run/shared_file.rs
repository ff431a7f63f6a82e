//! A file in memory, which the program and its children open as /proc/PID/fd/NUMBER of this process. It needs no name
//! in a folder, and no longer exists when this process ends.

use crate::failure::Failure;
use rustix::fs::{MemfdFlags, memfd_create};
use std::os::fd::{AsRawFd, OwnedFd};

pub(super) struct SharedFile(OwnedFd);

impl SharedFile {
    pub(super) fn new(name: &str) -> Result<Self, Failure> {
        let file = memfd_create(name, MemfdFlags::CLOEXEC);
        let file = file.map_err(|error| Failure::work(format!("no file in memory: {error}")))?;
        Ok(Self(file))
    }

    pub(super) fn file(&self) -> &OwnedFd {
        &self.0
    }

    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}
