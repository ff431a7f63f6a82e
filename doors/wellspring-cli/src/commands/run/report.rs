//! `--report`: the calls, bytes and threads of each door, counted in the program and printed at its end.

use super::program::{Kind, kind};
use super::shared_file::SharedFile;
use crate::failure::{Failure, say};
use rustix::fs::ftruncate;
use std::ffi::OsStr;
use wellspring_os::door_counters::{Door, DoorCounters, VARIABLE};

/// The counters, on a page that the program and its children open under /proc, through this process.
pub(super) struct Report {
    file: SharedFile,
    counters: DoorCounters,
}

impl Report {
    pub(super) fn start() -> Result<Self, Failure> {
        let file = SharedFile::new("wellspring-report")?;
        ftruncate(file.file(), 4096).map_err(Failure::work)?;
        let counters = DoorCounters::map(file.file());
        let counters = counters.map_err(|error| Failure::work(format!("no report: {error}")))?;
        Ok(Self { file, counters })
    }

    /// The environment variable that names the page.
    pub(super) fn variable(&self) -> &'static str {
        VARIABLE
    }

    pub(super) fn path(&self) -> String {
        self.file.path()
    }

    /// Prints a line for each door that was used, and the reason if the program cannot use any.
    pub(super) fn print(&self, program: &OsStr) {
        let programs = match self.counters.programs() {
            1 => "1 program".to_string(),
            count => format!("{count} programs"),
        };
        say(&format!(
            "wellspring: {programs} loaded the preload library"
        ));
        let mut is_used = false;
        for door in Door::ALL {
            let counts = self.counters.counts(door);
            if counts.calls > 0 {
                is_used = true;
                say(&format!(
                    "wellspring: {:<24} {:>10} calls {:>14} bytes {:>5} threads",
                    door.name(),
                    counts.calls,
                    counts.bytes,
                    counts.threads
                ));
            }
        }
        if !is_used {
            say("wellspring: the program drew no random bytes from wellspring");
        }
        match kind(program) {
            Kind::Static => say(
                "wellspring: the program is static: it loads no library, and makes its system calls itself",
            ),
            Kind::Privileged => say(
                "wellspring: the program has more rights than its caller: LD_PRELOAD and OPENSSL_CONF have no effect on it",
            ),
            Kind::Other => {}
        }
    }
}
