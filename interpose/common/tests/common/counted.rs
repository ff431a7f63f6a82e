//! Runs programs as `wellspring run --report` does, and reads what they drew through each door.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use testkit::programs::{scratch, text};
use wellspring_interpose::door_counters::{Counts, Door, DoorCounters, VARIABLE};

/// The output of a program, and the counters of its calls.
pub(crate) struct Run {
    /// Its status, and what it wrote.
    pub(crate) output: Output,
    /// The counters of its doors.
    pub(crate) counters: DoorCounters,
}

impl Run {
    /// Runs a shell script with counters. It is ended after 300 seconds, long after any test is done. `prepare` sets the
    /// environment and the folder.
    pub(crate) fn of(script: &str, prepare: impl FnOnce(&mut Command)) -> Self {
        // A file, not memory: some of the programs have no /proc by which they could open that.
        let page = scratch("counters").join("page");
        fs::write(&page, [0; 4096]).unwrap();
        // Whatever the mask of this process says: a page that others can write would not be used.
        fs::set_permissions(&page, fs::Permissions::from_mode(0o600)).unwrap();
        let name = CString::new(page.as_os_str().as_bytes()).unwrap();
        let counters = DoorCounters::open(&name).unwrap();
        // By SIGKILL, and in the whole group: children that hang with signals blocked would keep the output open.
        let mut command = Command::new("timeout");
        command
            .args(["--signal=KILL", "300", "sh", "-c", script])
            .env(VARIABLE, &page);
        prepare(&mut command);
        let output = command.output().unwrap();
        Self { output, counters }
    }

    /// The counters of a door.
    #[must_use]
    pub(crate) fn counts(&self, door: Door) -> Counts {
        self.counters.counts(door)
    }

    /// Its status and all that it wrote.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        text(&self.output)
    }

    /// Expects success.
    #[must_use]
    pub(crate) fn succeeds(self) -> Self {
        assert!(self.output.status.success(), "{}", self.text());
        self
    }
}
