//! The directory of a trusted file, and a lock file in it.

use super::{Access, FileFault, FileIdentity, TrustedFile, check, check_owner};
use crate::descriptor::{Descriptor, open_at};
use crate::os;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, Stat};
use rustix::fs::{fchmod, flock, fstat, ftruncate, statat};
use rustix::io::{Errno, pwrite};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// An open directory. All that is done through it is done in the same directory, even if that is renamed.
#[derive(Debug)]
pub struct Directory(Descriptor);

impl Directory {
    /// Opens the directory of `path`; also returns the file's name in it.
    ///
    /// # Errors
    ///
    /// [`FileFault::NotAFile`] if the path names no file, as `..` does; [`FileFault::System`].
    pub fn of(path: &Path) -> Result<(Self, &OsStr), FileFault> {
        let (directory, name) = split(path.as_os_str().as_bytes());
        if matches!(name, b"" | b"." | b"..") {
            return Err(FileFault::NotAFile);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = Self(open_at(CWD, directory, flags, Mode::empty())?);
        Ok((directory, OsStr::from_bytes(name)))
    }

    /// Opens a file that belongs to root or to us. It may be exposed: ask
    /// [`others_can_write`](TrustedFile::others_can_write) and [`is_secret`](TrustedFile::is_secret).
    ///
    /// # Errors
    ///
    /// Every [`FileFault`] except `Exposed` and `Busy`; `System` with `ENOENT` where there is no such file.
    pub fn open_file(&self, name: &OsStr, access: Access) -> Result<TrustedFile, FileFault> {
        // Looked at before it is opened: to open a device may do something, such as rewind a tape.
        check(&self.status_of(name)?)?;
        match open_at(self.as_fd(), name.as_bytes(), access.flags(), Mode::empty()) {
            // Replaced since we looked.
            Err(Errno::LOOP) => Err(FileFault::Link),
            Err(Errno::ISDIR | Errno::NXIO) => Err(FileFault::NotAFile),
            file => TrustedFile::new(file?),
        }
    }

    /// Whether only we and root can put files into the directory, and take files out of it.
    ///
    /// # Errors
    ///
    /// [`FileFault::System`].
    pub fn is_private(&self) -> Result<bool, FileFault> {
        let status = fstat(&self.0)?;
        let writable = Mode::from_raw_mode(status.st_mode).intersects(Mode::WGRP | Mode::WOTH);
        Ok(check_owner(status.st_uid).is_ok() && !writable)
    }

    /// Takes the lock that the file `name` stands for, without waiting. Makes the file if needed, readable by its
    /// owner alone: every process that can open a file can lock it. It is empty and is never removed.
    ///
    /// # Errors
    ///
    /// [`FileFault::Busy`] while another process has the lock; [`FileFault::Exposed`] if others could open the file,
    /// and so take the lock; every other [`FileFault`].
    pub fn lock(&self, name: &OsStr) -> Result<FileLock, FileFault> {
        let flags = Access::ReadWrite.flags() | OFlags::CREATE | OFlags::EXCL;
        let mode = Mode::RUSR | Mode::WUSR;
        let created = open_at(self.as_fd(), name.as_bytes(), flags, mode);
        let file = match created {
            Err(Errno::EXIST) => self.open_file(name, Access::ReadWrite)?,
            file => {
                let file = file?;
                // Whatever the mask of this process says: its owner opens it again.
                set_mode(&file, mode)?;
                TrustedFile::new(file)?
            }
        };
        if !file.is_secret() {
            return Err(FileFault::Exposed);
        }
        if self.is_locked_under(name, &file)? {
            Ok(FileLock(file))
        } else {
            Err(FileFault::Busy)
        }
    }

    /// Locks a file. Returns whether no other process had the lock and the file still has this name; an error where the file
    /// system has no locks.
    pub(super) fn is_locked_under(&self, name: &OsStr, file: impl AsFd) -> Result<bool, FileFault> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(false),
            locked => locked?,
        }
        Ok(fstat(&file).is_ok_and(|status| self.identity_of(name) == Some((&status).into())))
    }

    /// Which file has the name now.
    #[must_use]
    pub fn identity_of(&self, name: &OsStr) -> Option<FileIdentity> {
        let status = self.status_of(name).ok()?;
        Some(FileIdentity::from(&status))
    }

    #[inline(never)]
    fn status_of(&self, name: &OsStr) -> rustix::io::Result<Stat> {
        statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
    }
}

/// Gives a file this mode, if it has another mode. A sandbox may refuse fchmod(2), which can make any program
/// set-user-ID.
pub(super) fn set_mode(file: impl AsFd, mode: Mode) -> rustix::io::Result<()> {
    if Mode::from_raw_mode(fstat(&file)?.st_mode) == mode {
        return Ok(());
    }
    fchmod(file, mode)
}

/// The directory and the name in a path. By hand: the functions of [`Path`] are longer than the rest of this file.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let end = path.iter().rposition(|&byte| byte != b'/');
    let path = &path[..end.map_or(0, |last| last + 1)];
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(slash) => (&path[..slash.max(1)], &path[slash + 1..]),
        None => (b".", path),
    }
}

impl TrustedFile {
    /// Opens a file that no user but its owner can write.
    ///
    /// # Errors
    ///
    /// Every [`FileFault`] except `Busy`.
    pub fn open(path: &Path, access: Access) -> Result<Self, FileFault> {
        let (directory, name) = Directory::of(path)?;
        let file = directory.open_file(name, access)?;
        if file.others_can_write() {
            return Err(FileFault::Exposed);
        }
        Ok(file)
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A lock between processes, held until this is dropped. The kernel drops it when the process exits.
#[derive(Debug)]
pub struct FileLock(TrustedFile);

impl FileLock {
    /// Writes a short text into the lock's file, for messages to others. It may fail.
    pub fn note(&self, text: &str) {
        let _ = ftruncate(self, 0);
        if os::may_write_file(text.len() as u64) {
            let _ = pwrite(self, text.as_bytes(), 0);
        }
    }
}

impl AsFd for FileLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
