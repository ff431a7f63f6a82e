//! A seed file in its folder: reading it safely, and replacing it at one instant.
//!
//! What will be the next file is written under a name of its own, `.NAME.next`, and renamed. A lock on it is the
//! right to read, use and replace the seed: two engines that start at once use one after the other what the
//! first wrote and the second found. Whoever dies loses the lock with his life; what he left is removed by the
//! next.

use super::{Identity, SeedFileError};
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat, fchmod, flock, fstat, fsync,
    openat, renameat, statat, unlinkat,
};
use rustix::io::{Errno, read, write};
use rustix::process::geteuid;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use wellspring_core::seed_file::{MAX_BYTES, Place};
use wellspring_sys::system;
use zeroize::Zeroizing;

/// The folder of a seed file, and the file's names in it.
pub(super) struct Folder {
    folder: OwnedFd,
    name: OsString,
    next_name: OsString,
}

/// A seed file as it was found, whatever it says.
pub(super) struct Found {
    pub(super) bytes: Zeroizing<Vec<u8>>,
    pub(super) place: Place,
    /// Whether others could read it, or put another in its place.
    pub(super) exposed: bool,
}

impl Folder {
    /// Opens the folder of `path`.
    pub(super) fn open(path: &Path) -> Result<Self, SeedFileError> {
        let name = path.file_name().ok_or(SeedFileError::NotAFile)?;
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut next_name = OsString::from(".");
        next_name.push(name);
        next_name.push(".next");
        Ok(Self {
            folder: openat(CWD, folder, flags, Mode::empty())?,
            name: name.into(),
            next_name,
        })
    }

    /// Reads the file. `None` if there is none.
    pub(super) fn read(&self, identity: &Identity) -> Result<Option<Found>, SeedFileError> {
        // Looked at before it is opened: to open a device may do something.
        match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => check(&status)?,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.folder, &self.name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(SeedFileError::SymbolicLink),
            Err(error) => return Err(error.into()),
        };
        let status = fstat(&file)?;
        check(&status)?;
        // One byte more than a seed file can have tells that this is none.
        let mut bytes = Zeroizing::new(vec![0; MAX_BYTES + 1]);
        let mut length = 0;
        while length < bytes.len() {
            match read(&file, &mut bytes[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        bytes.truncate(length);
        let others = Mode::RWXG | Mode::RWXO;
        let readable = Mode::from_raw_mode(status.st_mode).intersects(others);
        Ok(Some(Found {
            bytes,
            place: identity.place_of(file.as_fd()),
            exposed: readable || status.st_nlink != 1 || !self.is_private()?,
        }))
    }

    /// Whether nobody but us and root can put files into the folder.
    fn is_private(&self) -> Result<bool, SeedFileError> {
        let status = fstat(&self.folder)?;
        let writable = Mode::from_raw_mode(status.st_mode).intersects(Mode::WGRP | Mode::WOTH);
        Ok(is_ours(&status) && !writable)
    }

    /// Begins the next file: waits up to a second for whoever is at it, and removes what someone left who was
    /// killed at it. Says whether there was such a thing.
    pub(super) fn begin(&self) -> Result<(Next<'_>, bool), SeedFileError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut removed = false;
        for _ in 0..1000 {
            match openat(&self.folder, &self.next_name, flags | OFlags::CLOEXEC, mode) {
                Ok(file) => {
                    if self.is_locked_as_next(&file) {
                        // Whatever the mask of this process says.
                        fchmod(&file, mode)?;
                        let next = Next {
                            folder: self,
                            file,
                            is_renamed: false,
                        };
                        return Ok((next, removed));
                    }
                }
                Err(Errno::EXIST) => removed |= self.remove_stale()?,
                Err(error) => return Err(error.into()),
            }
            system::pause();
        }
        Err(SeedFileError::Busy)
    }

    /// Removes the next file if nobody is at it.
    fn remove_stale(&self) -> Result<bool, SeedFileError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.folder, &self.next_name, flags, Mode::empty()) {
            Ok(file) if !self.is_locked_as_next(&file) => Ok(false),
            Err(Errno::NOENT) => Ok(false),
            // A link, or something else that we did not put there.
            Ok(_) | Err(Errno::LOOP | Errno::NXIO) => {
                unlinkat(&self.folder, &self.next_name, AtFlags::empty())?;
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Locks a file, and says whether it was free and is still the one of that name.
    fn is_locked_as_next(&self, file: &OwnedFd) -> bool {
        let identity = |status: Stat| (status.st_dev, status.st_ino);
        let named = || statat(&self.folder, &self.next_name, AtFlags::SYMLINK_NOFOLLOW);
        flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
            && fstat(file).ok().map(identity) == named().ok().map(identity)
    }
}

/// The next file, and the right to put it in the place of the present one. Removed on drop.
pub(super) struct Next<'a> {
    folder: &'a Folder,
    file: OwnedFd,
    is_renamed: bool,
}

impl Next<'_> {
    /// Where the file will be: it keeps its inode when it is renamed.
    pub(super) fn place(&self, identity: &Identity) -> Place {
        identity.place_of(self.file.as_fd())
    }

    /// Writes it, and puts it in the place of the present file. Once this returns without an error, the old
    /// content does not come back, whatever happens to the machine.
    pub(super) fn replace(mut self, mut bytes: &[u8]) -> Result<(), SeedFileError> {
        while !bytes.is_empty() {
            match write(&self.file, bytes) {
                Ok(0) => return Err(Errno::IO.into()),
                Ok(length) => bytes = &bytes[length..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        fsync(&self.file)?;
        let Folder {
            folder,
            name,
            next_name,
        } = self.folder;
        renameat(folder, next_name, folder, name)?;
        self.is_renamed = true;
        Ok(fsync(folder)?)
    }
}

impl Drop for Next<'_> {
    /// Removes it, unless it was renamed: then the name is free, and may be someone else's already.
    fn drop(&mut self) {
        if !self.is_renamed {
            let Folder {
                folder, next_name, ..
            } = self.folder;
            let _ = unlinkat(folder, next_name, AtFlags::empty());
        }
    }
}

fn is_ours(status: &Stat) -> bool {
    status.st_uid == 0 || status.st_uid == geteuid().as_raw()
}

/// Refuses what no seed file can be.
fn check(status: &Stat) -> Result<(), SeedFileError> {
    match FileType::from_raw_mode(status.st_mode) {
        FileType::Symlink => Err(SeedFileError::SymbolicLink),
        FileType::RegularFile if !is_ours(status) => Err(SeedFileError::Owner),
        FileType::RegularFile => Ok(()),
        _ => Err(SeedFileError::NotAFile),
    }
}
