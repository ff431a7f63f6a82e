//! The new content of a file: written beside it under another name, then renamed over it.

use super::directory::set_mode;
use super::{Access, Directory, FileFault};
use crate::descriptor::{Descriptor, open_at};
use crate::os;
use rustix::fs::{AtFlags, Mode, OFlags, RawMode, fsync, renameat, unlinkat};
use rustix::io::{Errno, write};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

/// How long [`Directory::begin_next`] waits for another process.
const WAIT_MS: u32 = 1000;

/// The file that will replace another, `.NAME.next`, and the right to replace it: a lock on it. Dropped without
/// [`replace`](Self::replace), it is removed.
///
/// A process that is killed leaves the file behind, but not the lock; the next process removes the file.
#[derive(Debug)]
pub struct NextFile<'a> {
    directory: &'a Directory,
    name: OsString,
    next_name: OsString,
    file: Descriptor,
    /// The bytes written, or to be written.
    length: u64,
    removed_stale: bool,
    is_renamed: bool,
}

impl Directory {
    /// Begins what will replace the file `name`. Waits up to a second for another process that is replacing it.
    ///
    /// Only its owner can read it until [`NextFile::replace`]: every process that can open a file can lock it.
    ///
    /// # Errors
    ///
    /// [`FileFault::Busy`] after a second; [`FileFault::System`].
    pub fn begin_next(&self, name: &OsStr) -> Result<NextFile<'_>, FileFault> {
        let mut next_name = OsString::from(".");
        next_name.push(name);
        next_name.push(".next");
        let flags = Access::ReadWrite.flags() | OFlags::CREATE | OFlags::EXCL;
        let mut removed_stale = false;
        for _ in 0..WAIT_MS {
            match open_at(
                self.as_fd(),
                next_name.as_bytes(),
                flags,
                Mode::RUSR | Mode::WUSR,
            ) {
                Ok(file) => match self.is_locked_under(&next_name, &file) {
                    Ok(true) => {
                        return Ok(NextFile {
                            directory: self,
                            name: name.into(),
                            next_name,
                            file,
                            length: 0,
                            removed_stale,
                            is_renamed: false,
                        });
                    }
                    Ok(false) => {}
                    Err(fault) => {
                        let _ = unlinkat(self, &next_name, AtFlags::empty());
                        return Err(fault);
                    }
                },
                Err(Errno::EXIST) => removed_stale |= self.remove_stale(&next_name)?,
                Err(error) => return Err(error.into()),
            }
            os::pause();
        }
        Err(FileFault::Busy)
    }

    /// Removes a next file that no process has locked. Returns whether it did.
    fn remove_stale(&self, next_name: &OsStr) -> Result<bool, FileFault> {
        // Held until the name is gone. Else the maker of the file, who may not have locked it yet, locks it and goes on, and
        // what is removed below is the file that the maker is about to put in place.
        let _stale = match open_at(
            self.as_fd(),
            next_name.as_bytes(),
            Access::Read.flags(),
            Mode::empty(),
        ) {
            Ok(file) if self.is_locked_under(next_name, &file)? => Some(file),
            Ok(_) | Err(Errno::NOENT) => return Ok(false),
            // A link or a device that we did not put there.
            Err(Errno::LOOP | Errno::NXIO) => None,
            Err(error) => return Err(error.into()),
        };
        unlinkat(self, next_name, AtFlags::empty())?;
        Ok(true)
    }
}

impl NextFile<'_> {
    /// Whether there was a next file, left by a killed process or made by another program.
    #[must_use]
    pub fn removed_stale(&self) -> bool {
        self.removed_stale
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    ///
    /// [`FileFault::System`]; with `EFBIG` if the process may not make a file of this length.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), FileFault> {
        self.length += bytes.len() as u64;
        if !os::may_write_file(self.length) {
            return Err(Errno::FBIG.into());
        }
        while !bytes.is_empty() {
            match write(&self.file, bytes) {
                Ok(0) => return Err(Errno::IO.into()),
                Ok(length) => bytes = &bytes[length..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Puts it in the place of the present file, if there is one, with these rights (as `0o600`), whatever the mask
    /// of this process says. Once this returns without an error, the old content does not come back, whatever
    /// happens to the machine.
    ///
    /// # Errors
    ///
    /// [`FileFault::System`]. The present file may then be the old one or the new one.
    pub fn replace(mut self, mode: u32) -> Result<(), FileFault> {
        set_mode(&self.file, Mode::from_raw_mode(mode as RawMode))?;
        fsync(&self.file)?;
        renameat(self.directory, &self.next_name, self.directory, &self.name)?;
        self.is_renamed = true;
        Ok(fsync(self.directory)?)
    }
}

impl AsFd for NextFile<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for NextFile<'_> {
    /// Removes it, unless it was renamed: then the name is free, and may be another process's already.
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = unlinkat(self.directory, &self.next_name, AtFlags::empty());
        }
    }
}
