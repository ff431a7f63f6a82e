//! A process that unmounts the files when the service has ended, also by `kill -9`. Without it every later read of the
//! mount would fail until an operator unmounts. The service cannot do it: it has given up the right to unmount.

use super::mount::{Mounted, mounted_at};
use rustix::mount::{UnmountFlags, unmount};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The option by which the service starts itself as a guardian.
const OPTION: &str = "--unmount-at-end";

/// The guardian of a mount.
#[derive(Debug)]
pub(super) struct Guardian(Child);

impl Guardian {
    pub(super) fn start(path: &Path) -> io::Result<Self> {
        let mounted = mounted_at(path)?.ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new("/proc/self/exe");
        command
            .arg(OPTION)
            .arg(std::path::absolute(path)?)
            .arg(mounted.device);
        // Its input ends when the service ends, since the service alone holds the other end of the pipe.
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        // Ctrl-C in a terminal reaches the service alone.
        command.process_group(0).spawn().map(Self)
    }

    /// Unmounts, and waits until that is done. Returns `false` if it failed, as when the guardian was killed.
    pub(super) fn unmount(&mut self) -> bool {
        drop(self.0.stdin.take());
        self.0.wait().is_ok_and(|status| status.success())
    }
}

/// Runs the guardian: waits for the end of standard input, then unmounts `path` if the mount there still has the device
/// number `device`.
///
/// # Errors
///
/// The reason why it was not unmounted.
pub fn unmount_at_end(path: &Path, device: &str) -> io::Result<()> {
    let mut nothing = [0];
    while !matches!(io::stdin().read(&mut nothing), Ok(0) | Err(_)) {}
    let is_this = |mounted: &Mounted| mounted.is_ours() && mounted.device == device;
    if mounted_at(path)?.as_ref().is_some_and(is_this) {
        // By force: readers that have a file open get an error at once, and the service's threads end.
        unmount(path, UnmountFlags::FORCE | UnmountFlags::DETACH)?;
    }
    Ok(())
}
