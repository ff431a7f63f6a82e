//! The user at the other end of a Unix socket.

use super::directory::split;
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
