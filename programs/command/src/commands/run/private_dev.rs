//! `--private-dev`: the service's files in place of /dev/random and /dev/urandom, for one program.

use crate::failure::Failure;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::path::Path;

/// The devices that are replaced.
const NAMES: [&str; 2] = ["random", "urandom"];

/// Moves this process, and so the program that it starts, to a mount namespace in which the files replace the devices.
pub(super) fn replace_devices(files: &Path) -> Result<(), Failure> {
    for name in NAMES {
        let file = files.join(name);
        let found = accessat(CWD, &file, Access::READ_OK, AtFlags::empty());
        found.map_err(|error| {
            let file = file.display();
            Failure::input(format!("{file}: {error} (does the service run?)"))
        })?;
    }
    mount(files).map_err(|error| match error {
        Errno::PERM => Failure::work("--private-dev needs root (CAP_SYS_ADMIN)"),
        error => Failure::work(format!("--private-dev: {error}")),
    })
}

fn mount(files: &Path) -> Result<(), Errno> {
    // SAFETY: no other thread runs in this command, and it uses no file that it found before, apart from the libraries
    // of the doors, which are outside of /dev.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?;
    NAMES
        .into_iter()
        .try_for_each(|name| mount_bind(files.join(name), Path::new("/dev").join(name)))
}
