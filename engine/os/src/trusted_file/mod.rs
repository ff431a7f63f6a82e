//! Files that are trusted only if root or this user owns them: opened without following links, and replaced
//! atomically.
//!
//! ```text
//! TrustedFile  a file: how it is opened, its owner, what other users can do with it
//! Directory    the directory it is in, and a lock file there
//! NextFile     the new file: written beside the old one, then renamed over it
//! check_folders  all folders above a file
//! listener     the user at the other end of a Unix socket, on Linux
//! ```

#[cfg(test)]
mod tests;

use crate::descriptor::{Descriptor, open_at};
use crate::os;
pub use crate::os_error::FileFault;
use crate::os_error::OsError;
use crate::system::users::{effective_user, has_no_number, root_has_number};
#[cfg(target_os = "linux")]
pub use listener::{check_listener, other_end};
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RawMode, Stat, fchmod, flock, fstat,
    fsync, ftruncate, lstat, readlink, renameat, stat, statat, unlinkat,
};
use rustix::io::{Errno, pwrite, read, write};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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

// The directory of a trusted file, and a lock file in it.

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

// The new content of a file: written beside it under another name, then renamed over it.

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

// The folders above a file, and who can put another file in its place.

/// As many as the kernel follows.
const MAX_LINKS: u32 = 40;

/// Refuses a folder if a user other than root, this user and `also` can make, remove or replace files in it, or can
/// replace the folder. All folders and links on the way to it count. Such a user cannot change an accepted folder later:
/// there is no gap between the check and the use.
///
/// # Errors
///
/// [`FileFault::Owner`], [`Unmapped`](FileFault::Unmapped), [`Exposed`](FileFault::Exposed); [`Link`](FileFault::Link) for a
/// link in a folder like /tmp; [`NotAFile`](FileFault::NotAFile) for anything but a folder; [`System`](FileFault::System).
pub fn check_folders(folder: &Path, also: Option<u32>) -> Result<(), FileFault> {
    let folder = std::path::absolute(folder);
    let folder = folder.map_err(|_| FileFault::System(OsError::new(libc::ENOENT)))?;
    if is_shared(&folder, also, MAX_LINKS)? {
        Err(FileFault::Exposed)
    } else {
        Ok(())
    }
}

/// Like [`check_folders`], for a name that must stay ours: also refuses a folder below a shared one like /tmp, where another
/// user can take the name as soon as we have removed the folder.
///
/// In a user namespace without a number for root, such as a sandbox, a folder above may have an owner without a number, who
/// may be root.
///
/// # Errors
///
/// The errors of [`check_folders`].
pub fn check_lasting_folders(folder: &Path) -> Result<(), FileFault> {
    let is_sandbox = root_has_no_number();
    match check_folders(folder, None) {
        Err(FileFault::Unmapped) if is_sandbox => {}
        checked => checked?,
    }
    let not_found = |_| FileFault::System(OsError::new(libc::ENOENT));
    // Links count by where they lead.
    let place = std::fs::canonicalize(folder).map_err(not_found)?;
    let folder = std::path::absolute(folder).map_err(not_found)?;
    let mut own = Ok(());
    for above in folder.ancestors().chain(place.ancestors()) {
        let status = stat(above)?;
        // The mode first: it counts whatever user the owner is.
        if Mode::from_raw_mode(status.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
            return Err(FileFault::Exposed);
        }
        match check_owner(status.st_uid) {
            Err(FileFault::Unmapped) if is_sandbox => {
                if above == folder || above == place {
                    own = Err(FileFault::Unmapped);
                }
            }
            checked => checked?,
        }
    }
    own
}

/// Whether this process is in a user namespace without a number for root, such as a sandbox: root's files then give
/// [`FileFault::Unmapped`] too.
#[must_use]
pub fn root_has_no_number() -> bool {
    !root_has_number()
}

/// Checks all folders of an absolute path. Returns whether the last one is like /tmp: all users make files in it, and
/// no user removes another's.
fn is_shared(path: &Path, also: Option<u32>, links: u32) -> Result<bool, FileFault> {
    let mut at = PathBuf::new();
    let mut shared = false;
    for component in path.components() {
        at.push(component);
        let status = lstat(&at)?;
        if also != Some(status.st_uid) {
            check_owner(status.st_uid)?;
        }
        shared = match FileType::from_raw_mode(status.st_mode) {
            FileType::Directory => {
                let mode = Mode::from_raw_mode(status.st_mode);
                let writable = mode.intersects(Mode::WGRP | Mode::WOTH);
                if writable && !mode.contains(Mode::SVTX) {
                    return Err(FileFault::Exposed);
                }
                writable
            }
            // Another user may have made it, as a second name for a link of ours.
            FileType::Symlink if shared || links == 0 => return Err(FileFault::Link),
            FileType::Symlink => {
                let target = readlink(&at, Vec::new())?;
                at.pop();
                at.push(OsStr::from_bytes(target.as_bytes()));
                is_shared(&at, also, links - 1)?
            }
            _ => return Err(FileFault::NotAFile),
        };
    }
    Ok(shared)
}

#[cfg(target_os = "linux")]
mod listener {
    //! The user at the other end of a Unix socket.

    use super::split;
    use super::{FileFault, check_folders, check_owner};
    use crate::os_error::{OsError, raw_call};
    use core::mem::MaybeUninit;
    use std::ffi::OsStr;
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    /// Refuses a Unix socket that another user may have put at `path`. Accepts a socket if root or this user listens on it, or
    /// if no other user can change its folder, so that root or this user vouches for it.
    ///
    /// # Errors
    ///
    /// The errors of [`check_folders`].
    pub fn check_listener(connected: impl AsFd, path: &Path) -> Result<(), FileFault> {
        let (user, _) = other_end(connected).map_err(FileFault::System)?;
        if check_owner(user).is_ok() {
            return Ok(());
        }
        let (folder, _) = split(path.as_os_str().as_bytes());
        check_folders(Path::new(OsStr::from_bytes(folder)), None)
    }

    /// The user and the process that connected the other end of a Unix socket, or made it listen. The process is 0 if its PID
    /// namespace hides it from this process.
    ///
    /// # Errors
    ///
    /// The errors of getsockopt(2).
    pub fn other_end(connected: impl AsFd) -> Result<(u32, i32), OsError> {
        let mut peer = MaybeUninit::<libc::ucred>::uninit();
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        let socket = connected.as_fd().as_raw_fd();
        let place = peer.as_mut_ptr().cast();
        // SAFETY: the pointers are to a `ucred` and its length, which outlive the call.
        raw_call(|| unsafe {
            let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
            libc::getsockopt(socket, level, name, place, &raw mut length).into()
        })?;
        // SAFETY: the kernel has written it.
        let peer = unsafe { peer.assume_init() };
        Ok((peer.uid, peer.pid))
    }
}
