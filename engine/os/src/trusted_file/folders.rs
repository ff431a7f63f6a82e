//! The folders above a file, and who can put another file in its place.

use super::{FileFault, check_owner};
use crate::os_error::OsError;
use crate::system::users::root_has_number;
use rustix::fs::{FileType, Mode, lstat, readlink, stat};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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
