//! The folders above a file, and who can put another file in its place.

use super::directory::split;
use super::{FileFault, check_owner};
use crate::os_error::{OsError, raw_call};
use core::mem::MaybeUninit;
use rustix::fs::{FileType, Mode, lstat, readlink};
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// As many as the kernel follows.
const MAX_LINKS: u32 = 40;

/// Refuses a folder in which a user other than root, this user and `also` can make, remove or replace files, or which such
/// a user can replace. All folders and links on the way to it count. What this function accepts, such a user cannot change
/// later: there is no gap between the check and the use.
///
/// # Errors
///
/// [`FileFault::Owner`], [`Unmapped`](FileFault::Unmapped), [`Exposed`](FileFault::Exposed); [`Link`](FileFault::Link) for a
/// link in a folder like /tmp; [`NotAFile`](FileFault::NotAFile) for what is no folder; [`System`](FileFault::System).
pub fn check_folders(folder: &Path, also: Option<u32>) -> Result<(), FileFault> {
    let folder = std::path::absolute(folder);
    let folder = folder.map_err(|_| FileFault::System(OsError::new(libc::ENOENT)))?;
    if is_shared(&folder, also, MAX_LINKS)? {
        Err(FileFault::Exposed)
    } else {
        Ok(())
    }
}

/// Checks all folders of an absolute path. Returns whether the last one is like /tmp: all users make files in it, and none
/// removes those of others.
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

/// Refuses a Unix socket that another user may have put at `path`. Accepted is one on which root or this user listens; and
/// one in a folder that no other user can change, so that root or this user vouches for it.
///
/// # Errors
///
/// Those of [`check_folders`].
pub fn check_listener(connected: impl AsFd, path: &Path) -> Result<(), FileFault> {
    let (user, _) = other_end(connected).map_err(FileFault::System)?;
    if check_owner(user).is_ok() {
        return Ok(());
    }
    let (folder, _) = split(path.as_os_str().as_bytes());
    check_folders(Path::new(OsStr::from_bytes(folder)), None)
}

/// The user and the process at the other end of a Unix socket: those who connected it, or made it listen. The process is 0
/// where this one cannot see it, in a PID namespace of its own.
///
/// # Errors
///
/// Those of getsockopt(2).
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
