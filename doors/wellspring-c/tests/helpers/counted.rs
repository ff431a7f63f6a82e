//! Runs programs as `wellspring run --report` does, and reads what they drew through each door.

use crate::common::programs::text;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::os::fd::AsRawFd;
use std::process::{Command, Output};
use wellspring_sys::door_counters::{Counts, Door, DoorCounters, VARIABLE};

/// The output of a program, and the counters of its calls.
pub(crate) struct Run {
    pub(crate) output: Output,
    pub(crate) counters: DoorCounters,
}

impl Run {
    /// Runs a shell script with counters. It is ended after 120 seconds, long after any test is done. `prepare` sets the
    /// environment and the folder.
    pub(crate) fn of(script: &str, prepare: impl FnOnce(&mut Command)) -> Self {
        let file = memfd_create("counters", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, 4096).unwrap();
        let counters = DoorCounters::map(&file).unwrap();
        let page = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let mut command = Command::new("timeout");
        command
            .args(["--signal=KILL", "300", "sh", "-c", script])
            .env(VARIABLE, page);
        prepare(&mut command);
        let output = command.output().unwrap();
        Self { output, counters }
    }

    pub(crate) fn counts(&self, door: Door) -> Counts {
        self.counters.counts(door)
    }

    pub(crate) fn text(&self) -> String {
        text(&self.output)
    }

    pub(crate) fn succeeds(self) -> Self {
        assert!(self.output.status.success(), "{}", self.text());
        self
    }
}
