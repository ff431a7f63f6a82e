//! The stand-in for files that are trusted because root or this user owns them. Windows has access lists in place of owners
//! and modes, which are not looked at: so no file is trusted, and no value of these types exists but [`Access`].

use super::descriptor::{AsFd, BorrowedFd};
use crate::os_error::OsError;
use core::convert::Infallible;
use core::marker::PhantomData;
use std::ffi::{OsStr, OsString};
use std::path::Path;

pub use crate::file_fault::FileFault;

const UNSUPPORTED: FileFault = FileFault::System(OsError::UNSUPPORTED);

/// How a file will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To be read.
    Read,
    /// To be read and written.
    ReadWrite,
}

/// Which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The number of the file system's device.
    pub device: u64,
    /// The number within that file system.
    pub inode: u64,
}

/// An open file.
#[derive(Debug)]
pub struct TrustedFile(Infallible);

impl TrustedFile {
    /// Opens a file that no user but its owner can write.
    ///
    /// # Errors
    ///
    /// [`FileFault::System`] with [`OsError::UNSUPPORTED`].
    pub fn open(_: &Path, _: Access) -> Result<Self, FileFault> {
        Err(UNSUPPORTED)
    }

    /// Reads the file.
    ///
    /// # Errors
    ///
    /// None.
    pub fn read(&self, _: &mut [u8]) -> Result<usize, FileFault> {
        match self.0 {}
    }

    /// The file's size.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self.0 {}
    }

    /// Which file it is.
    #[must_use]
    pub fn identity(&self) -> FileIdentity {
        match self.0 {}
    }

    /// Whether the file is secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        match self.0 {}
    }
}

impl AsFd for TrustedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}

/// An open directory.
#[derive(Debug)]
pub struct Directory(Infallible);

impl Directory {
    /// Opens the directory of `path`.
    ///
    /// # Errors
    ///
    /// [`FileFault::System`] with [`OsError::UNSUPPORTED`].
    pub fn of(_: &Path) -> Result<(Self, &OsStr), FileFault> {
        Err(UNSUPPORTED)
    }

    /// Opens a file.
    ///
    /// # Errors
    ///
    /// None.
    pub fn open_file(&self, _: &OsStr, _: Access) -> Result<TrustedFile, FileFault> {
        match self.0 {}
    }

    /// Whether only this user can put files into the directory.
    ///
    /// # Errors
    ///
    /// None.
    pub fn is_private(&self) -> Result<bool, FileFault> {
        match self.0 {}
    }

    /// Takes a lock.
    ///
    /// # Errors
    ///
    /// None.
    pub fn lock(&self, _: &OsString) -> Result<FileLock, FileFault> {
        match self.0 {}
    }

    /// Begins a new file.
    ///
    /// # Errors
    ///
    /// None.
    pub fn begin_next(&self, _: &OsStr) -> Result<NextFile<'_>, FileFault> {
        match self.0 {}
    }
}

/// A lock between processes.
#[derive(Debug)]
pub struct FileLock(Infallible);

impl FileLock {
    /// Writes a short text into the lock's file, for messages to others.
    pub fn note(&self, _: &str) {
        match self.0 {}
    }
}

/// The file that will replace another.
#[derive(Debug)]
pub struct NextFile<'a>(Infallible, PhantomData<&'a ()>);

impl NextFile<'_> {
    /// Whether there was a next file.
    #[must_use]
    pub fn removed_stale(&self) -> bool {
        match self.0 {}
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    ///
    /// None.
    pub fn write(&mut self, _: &[u8]) -> Result<(), FileFault> {
        match self.0 {}
    }

    /// Puts it in the place of the present file.
    ///
    /// # Errors
    ///
    /// None.
    pub fn replace(self, _: u32) -> Result<(), FileFault> {
        match self.0 {}
    }
}

impl AsFd for NextFile<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}
