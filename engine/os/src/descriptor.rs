//! Opens files by raw system calls where the system has them, and reads small files at once.

use core::mem::ManuallyDrop;
use rustix::fd::AsRawFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, close, read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A descriptor that is closed by a raw system call. The C library's close(2) is a cancellation point: a thread that the
/// program has cancelled would end in the middle of a read.
#[derive(Debug)]
pub struct Descriptor(ManuallyDrop<OwnedFd>);

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nothing uses it after this.
        unsafe { close(self.0.as_raw_fd()) };
    }
}

/// openat(2), compiled once: rustix's function is generic, and each of its copies takes 500 bytes of a program.
///
/// # Errors
///
/// The errors of openat(2).
#[inline(never)]
pub fn open_at(
    directory: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<Descriptor> {
    openat(directory, path, flags, mode).map(|file| Descriptor(ManuallyDrop::new(file)))
}

/// Opens a device to read it, without waiting; `None` if that fails.
#[must_use]
#[inline]
pub fn open_device(path: &Path) -> Option<Descriptor> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    open_at(CWD, path.as_os_str().as_bytes(), flags, Mode::empty()).ok()
}

/// Reads the beginning of a small file, as of sysfs, into `buffer`; `None` if it cannot be read.
pub fn read_file<'a>(path: &[u8], buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    if cfg!(miri) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = open_at(CWD, path, flags, Mode::empty()).ok()?;
    let mut length = 0;
    while length < buffer.len() {
        match read(&file, &mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(&buffer[..length])
}
