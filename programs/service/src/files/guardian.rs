//! A process that unmounts the files when the service has ended, also by `kill -9`. Without it every later read of the
//! mount would fail until an operator unmounts. The service cannot do it: it has given up the right to unmount.

use super::mount::{Mounted, device_at, mounted_at};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The option by which the service starts itself as a guardian.
const OPTION: &str = "--unmount-at-end";

/// The guardian of a mount.
#[derive(Debug)]
pub(crate) struct Guardian {
    process: Child,
    path: PathBuf,
    /// The device number of the mount that it guards. Empty before that.
    device: String,
}

impl Guardian {
    /// Starts it, before anything is opened: between fork(2) and exec(2) the new process has copies of all descriptors. If
    /// the service were killed then, they would keep its sockets in use.
    pub(crate) fn start(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(OPTION).arg(&path);
        // Its input ends when the service ends, since the service alone holds the other end of the pipe.
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        // Ctrl-C in a terminal reaches the service alone.
        let process = command.process_group(0).spawn()?;
        Ok(Self {
            process,
            path,
            device: String::new(),
        })
    }

    /// Tells it which mount it is to unmount: the one that is there now.
    pub(super) fn guard(&mut self) -> io::Result<()> {
        let mounted = mounted_at(&self.path)?.ok_or(io::ErrorKind::NotFound)?;
        self.device = mounted.device;
        let input = self.process.stdin.as_mut();
        input
            .ok_or(io::ErrorKind::BrokenPipe)?
            .write_all(self.device.as_bytes())
    }

    /// Whether programs no longer find the mount: it was unmounted or covered by another, or its connection was cut.
    pub(super) fn has_lost_mount(&self) -> bool {
        match device_at(&self.path) {
            Ok(device) => device != self.device,
            Err(error) => matches!(error, Errno::NOENT | Errno::NOTCONN),
        }
    }

    /// Unmounts, and does not wait for that.
    pub(super) fn start_to_unmount(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Unmounts, and waits until that is done. Returns `false` if it failed, as when the guardian was killed.
    pub(super) fn unmount(&mut self) -> bool {
        self.start_to_unmount();
        self.process.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.unmount();
    }
}

/// Runs the guardian: waits for the end of standard input, then unmounts `path` if the mount there still has the device
/// number that came by standard input.
///
/// # Errors
///
/// The reason why it was not unmounted.
pub fn unmount_at_end(path: &Path) -> io::Result<()> {
    let mut device = String::new();
    io::stdin().read_to_string(&mut device)?;
    let is_this = |mounted: &Mounted| mounted.is_ours() && mounted.device == device;
    if mounted_at(path)?.as_ref().is_some_and(is_this) {
        // By force: readers that have a file open get an error at once, and the service's threads end.
        unmount(path, UnmountFlags::FORCE | UnmountFlags::DETACH)?;
    }
    Ok(())
}
