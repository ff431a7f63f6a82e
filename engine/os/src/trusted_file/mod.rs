//! Files that are trusted only if root or this user owns them: opened without following links, and replaced
//! atomically.
//!
//! ```text
//! mod        a file: how it is opened, its owner, what other users can do with it
//! directory  the directory it is in, and a lock file there
//! next_file  the new file: written beside the old one, then renamed over it
//! folders    all folders above a file
//! listener   the user at the other end of a Unix socket, on Linux
//! ```

mod directory;
mod folders;
#[cfg(target_os = "linux")]
mod listener;
mod next_file;

pub use crate::file_fault::FileFault;
pub use directory::{Directory, FileLock};
pub use folders::{check_folders, check_lasting_folders, root_has_no_number};
#[cfg(target_os = "linux")]
pub use listener::{check_listener, other_end};
pub use next_file::NextFile;

use crate::descriptor::Descriptor;
use crate::system::users::{effective_user, has_no_number};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, read};
use std::os::fd::{AsFd, BorrowedFd};

impl From<Errno> for FileFault {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// How a file will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To be read.
    Read,
    /// To be read and written.
    ReadWrite,
}

impl Access {
    /// Never through a link, and never waiting, as for the writer of a pipe.
    fn flags(self) -> OFlags {
        let access = match self {
            Self::Read => OFlags::RDONLY,
            Self::ReadWrite => OFlags::RDWR,
        };
        access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
    }
}

/// Which file it is. Two files that exist at the same time differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The number of the file system's device.
    pub device: u64,
    /// The number within that file system.
    pub inode: u64,
}

impl From<&Stat> for FileIdentity {
    fn from(status: &Stat) -> Self {
        Self {
            // A signed number of 32 bits on macOS.
            #[allow(clippy::unnecessary_cast)]
            device: status.st_dev as u64,
            inode: status.st_ino,
        }
    }
}

/// An open regular file that belongs to root or to the user that runs this process.
#[derive(Debug)]
pub struct TrustedFile {
    file: Descriptor,
    mode: Mode,
    bytes: u64,
    links: u64,
    identity: FileIdentity,
}

impl TrustedFile {
    fn new(file: Descriptor) -> Result<Self, FileFault> {
        let status = rustix::fs::fstat(&file)?;
        check(&status)?;
        Ok(Self {
            file,
            mode: Mode::from_raw_mode(status.st_mode),
            bytes: status.st_size as u64,
            links: status.st_nlink as u64,
            identity: FileIdentity::from(&status),
        })
    }

    /// Reads from where the last read ended, up to the end of the file or of `buffer`; returns the number of bytes.
    ///
    /// # Errors
    ///
    /// [`FileFault::System`].
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize, FileFault> {
        let mut length = 0;
        while length < buffer.len() {
            match read(&self.file, &mut buffer[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(length)
    }

    /// The file's size when it was opened.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Which file it is.
    #[must_use]
    pub fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Whether users other than its owner could write it when it was opened. Access lists count: the system shows
    /// the most that one of them grants as the rights of the group.
    #[must_use]
    pub fn others_can_write(&self) -> bool {
        self.mode.intersects(Mode::WGRP | Mode::WOTH)
    }

    /// Whether the file was secret when it was opened: no user but its owner has any right to it, and it has no
    /// second name.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        !self.mode.intersects(Mode::RWXG | Mode::RWXO) && self.links == 1
    }
}

impl AsFd for TrustedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Refuses everything but a regular file that root or this user owns.
fn check(status: &Stat) -> Result<(), FileFault> {
    match FileType::from_raw_mode(status.st_mode) {
        FileType::Symlink => Err(FileFault::Link),
        FileType::RegularFile => check_owner(status.st_uid),
        _ => Err(FileFault::NotAFile),
    }
}

/// Refuses a user that is neither root nor us.
fn check_owner(owner: u32) -> Result<(), FileFault> {
    if has_no_number(owner) {
        // In such a namespace every owner without a number looks the same, and may look like ourselves.
        return Err(FileFault::Unmapped);
    }
    if owner == 0 || owner == effective_user() {
        Ok(())
    } else {
        Err(FileFault::Owner)
    }
}

#[cfg(test)]
mod tests;
