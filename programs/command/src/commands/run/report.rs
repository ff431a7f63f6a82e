//! `--report`: the calls, bytes and threads of each door, counted in the program and printed at its end.

use super::files::Page;
use super::program::{Kind, kind};
use crate::failure::{Failure, say};
use std::ffi::OsStr;
use std::path::PathBuf;
use wellspring_interpose::door_counters::{Door, DoorCounters, VARIABLE};

/// The counters, on a page that the program and its children open.
pub(super) struct Report {
    page: Page,
    counters: DoorCounters,
}

impl Report {
    pub(super) fn start() -> Result<Self, Failure> {
        let page = Page::new()?;
        let counters = DoorCounters::map(&page);
        let counters = counters.map_err(|error| Failure::work(format!("no report: {error}")))?;
        Ok(Self { page, counters })
    }

    /// The environment variable that names the page.
    pub(super) fn variable(&self) -> &'static str {
        VARIABLE
    }

    pub(super) fn path(&self) -> PathBuf {
        self.page.path()
    }

    /// Prints a line for each door that was used, each fault, and the reason if the program cannot use any door. `sets_up` is
    /// true for the preload library, and for the provider, if the command set it up.
    pub(super) fn print(&self, program: &OsStr, sets_up: [bool; 2]) {
        let counts = [self.counters.programs(), self.counters.providers()];
        let names = ["the preload library", "the OpenSSL provider"];
        for index in 0..2 {
            let programs = match counts[index] {
                1 => "1 program".to_string(),
                count => format!("{count} programs"),
            };
            if sets_up[index] || counts[index] > 0 {
                say(&format!("wellspring: {programs} loaded {}", names[index]));
            }
        }
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
            if counts.failures > 0 {
                let instead = match door {
                    Door::Getrandom | Door::Getentropy | Door::Arc4random => "the kernel answered",
                    Door::RandBytes => "OpenSSL answered",
                    _ => "the program got an error",
                };
                say(&format!(
                    "wellspring: {:<24} {:>10} calls that wellspring could not serve: {instead}. `wellspring check` in the \
                     program's place says why",
                    door.name(),
                    counts.failures
                ));
            }
        }
        if !is_used {
            say("wellspring: the program drew no random bytes from wellspring");
        }
        if let Some(reason) = match kind(program) {
            Kind::Static => Some(
                "is static, so it loads no library and makes its system calls itself: run it with --private-dev if it reads \
                 /dev/urandom, or link it with the C library of wellspring",
            ),
            Kind::Privileged => Some(
                "has more rights than its caller (set-user-ID, set-group-ID or capabilities), so it ignores what this command \
                 sets up: run it as the user that it becomes, or with --private-dev if it reads /dev/urandom",
            ),
            Kind::Other => None,
        } {
            say(&format!(
                "wellspring: {} {reason}",
                program.to_string_lossy()
            ));
        }
    }
}
