//! A Debian kernel in QEMU, by software emulation: what `rig` and `kernel-test` stand on.
//!
//! ```text
//! cache       everything that is fetched or built once
//! packages    a private apt: Debian packages of any suite, unpacked and not installed
//! chroot      a small system of another suite, for its compiler
//! kernel      kernels, their headers, and modules built for them
//! modules     what a module needs of the distribution's
//! debug       a kernel of our own that watches locks and memory
//! initramfs   the guest's files, as a cpio archive
//! files       what every guest has: a shell that obeys
//! command     the command `wellspring`, as a guest can run it
//! qemu        the machine: CPUs, nodes, disks, snapshots
//! console     what the kernel said, judged
//! shell       commands for the guest, and their answers
//! table       the end of it all
//! ```
//!
//! Nothing is installed and nothing of the system is changed. Emulation says nothing about speed; it has nodes,
//! CPUs, interrupts and snapshots, which is what is wanted.

mod cache;
mod chroot;
mod command;
mod console;
mod debug;
mod files;
mod initramfs;
mod kernel;
mod modules;
mod packages;
mod qemu;
mod shell;
mod table;

pub(crate) use cache::Cache;
pub(crate) use command::command;
pub(crate) use files::Files;
pub(crate) use kernel::{Kernel, Release};
pub(crate) use qemu::{Guest, Machine, Qemu};
pub(crate) use shell::Answer;
pub(crate) use table::Table;

/// Why there is no result, or a bad one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// This machine cannot run it: a program is missing, or Debian's archive is out of reach.
    Missing(String),
    /// It ran, and something is wrong.
    Failed(String),
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Stop::Failed(reason)
    }
}

/// What may not come to be.
pub(crate) type Result<T = ()> = std::result::Result<T, Stop>;

/// Something is wrong.
pub(crate) fn failed<T>(reason: impl Into<String>) -> Result<T> {
    Err(Stop::Failed(reason.into()))
}

/// An error of the system, and where it stood in the way.
pub(crate) fn at(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Stop {
    move |error| Stop::Failed(format!("{what}: {error}"))
}

/// A result as a chore's: what is missing is said, and is no failure.
pub(crate) fn verdict(result: Result) -> std::result::Result<(), String> {
    match result {
        Ok(()) => Ok(()),
        Err(Stop::Missing(reason)) => {
            println!("SKIPPED: {reason}");
            Ok(())
        }
        Err(Stop::Failed(reason)) => Err(reason),
    }
}
