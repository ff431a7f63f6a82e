//! A page that `wellspring run` names in the environment of a program, for a library that counts or draws there.
//!
//! The environment outlives the command: in a service that went to the background, in a program that became another user. So
//! the library believes the name of no file that another user can have put there, and no content that it does not know.

use core::ffi::CStr;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, statat};
use std::os::fd::BorrowedFd;
use wellspring_os::descriptor::open_at;
use wellspring_os::os_error::OsError;
use wellspring_os::shared_page::{SharedPage, SharedPageMut};
use wellspring_os::users::{has_no_number, real_user};

/// Opens and maps a page.
///
/// # Errors
///
/// `EPERM` if the file's owner, or a user who can write it, is neither root nor the user who started this process; `EINVAL` for
/// anything but a regular file of a page; the error of open(2), `ENOENT` after the command has ended.
pub(crate) fn open(path: &CStr) -> Result<SharedPageMut, OsError> {
    // Looked at before it is opened: to open a device may do something, such as rewind a tape.
    check(&statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?)?;
    let flags =
        OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = open_at(CWD, path.to_bytes(), flags, Mode::empty())?;
    check(&fstat(&file)?)?;
    SharedPage::map_to_write(file)
}

/// The real user counts, not the effective one: root that has taken a user's rights for a while may not load what is the user's.
fn check(status: &Stat) -> Result<(), OsError> {
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(OsError::new(libc::EINVAL));
    }
    let owner = status.st_uid;
    let is_ours = (owner == 0 || owner == real_user()) && !has_no_number(owner);
    let mode = Mode::from_raw_mode(status.st_mode);
    if !is_ours || mode.intersects(Mode::WGRP | Mode::WOTH) {
        return Err(OsError::new(libc::EPERM));
    }
    Ok(())
}

/// Writes a line to stderr, with this process's number between its two parts. Not into a socket: a service that runs for long
/// may have a connection there.
pub(crate) fn say(before: &[u8], after: &[u8]) {
    // SAFETY: stderr's number is used for one call, whatever is open there.
    let stderr = unsafe { BorrowedFd::borrow_raw(libc::STDERR_FILENO) };
    let is_socket = fstat(stderr)
        .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Socket);
    // A pipe without a reader would send SIGPIPE, and a full one would hold the program up.
    let mut at = libc::pollfd {
        fd: libc::STDERR_FILENO,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one entry, which lives for the call.
    let takes = unsafe { libc::poll(&raw mut at, 1, 0) } == 1 && at.revents == libc::POLLOUT;
    if is_socket || !takes {
        return;
    }
    let (mut digits, mut first) = ([0; 10], 10);
    let mut number = std::process::id();
    while number > 0 && first > 0 {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let mut line = [0; 256];
    let mut length = 0;
    for part in [before, &digits[first..], after, b"\n"] {
        let room = &mut line[length..];
        let taken = part.len().min(room.len());
        room[..taken].copy_from_slice(&part[..taken]);
        length += taken;
    }
    let _ = rustix::io::write(stderr, &line[..length]);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::{Path, PathBuf};

    pub(crate) const PAGE_BYTES: usize = 4096;

    pub(crate) fn name(path: &Path) -> CString {
        CString::new(path.as_os_str().as_bytes()).unwrap()
    }

    /// A file of one page, all zeros, that its owner alone can write.
    pub(crate) fn file(name: &str, content: &[u8]) -> PathBuf {
        let path = testkit::programs::scratch(name).join("page");
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        path
    }

    #[test]
    fn what_another_user_can_have_put_there_is_refused() {
        let path = file("run-page", &[0; 4096]);
        let error = |path: &Path| open(&name(path)).err().map(OsError::number);
        assert_eq!(error(&path), None);
        let link = path.with_file_name("link");
        symlink(&path, &link).unwrap();
        assert_eq!(error(&link), Some(libc::EINVAL), "a link");
        assert_eq!(error(Path::new("/dev/zero")), Some(libc::EINVAL));
        assert_eq!(error(Path::new("/nonexistent/page")), Some(libc::ENOENT));
        for mode in [0o620, 0o602, 0o666] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(error(&path), Some(libc::EPERM), "{mode:o}");
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        if chown(&path, Some(1234), None).is_err() {
            return testkit::skipped("a file cannot be given away");
        }
        assert_eq!(error(&path), Some(libc::EPERM), "another user's");
        // SAFETY: the child makes system calls and no allocation that others wait for, and ends with _exit.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                // Root that has taken the owner's rights: its file is still not root's.
                let taken = libc::seteuid(1234) == 0;
                libc::_exit(i32::from(!taken || open(&name(&path)).is_ok()));
            }
            let mut status = 0;
            libc::waitpid(child, &raw mut status, 0);
            status
        };
        assert_eq!(status, 0);
    }

    /// Runs `say` in a child whose stderr this is. Returns the child's status.
    fn say_to(stderr: i32) -> i32 {
        // SAFETY: the child makes system calls alone, and ends with _exit or by a signal.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                libc::alarm(60);
                libc::dup2(stderr, libc::STDERR_FILENO);
                say(b"process ", b" speaks");
                libc::_exit(0);
            }
            let mut status = 0;
            libc::waitpid(child, &raw mut status, 0);
            status
        }
    }

    #[test]
    fn a_line_goes_to_who_reads_and_harms_no_program_whose_stderr_takes_none() {
        use std::io::Read;
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = std::io::pipe().unwrap();
        assert_eq!(say_to(writer.as_raw_fd()), 0);
        let mut line = [0; 64];
        let length = reader.read(&mut line).unwrap();
        let line = str::from_utf8(&line[..length]).unwrap();
        assert!(
            line.starts_with("process ") && line.ends_with(" speaks\n"),
            "{line}"
        );
        // A full pipe: an end that does not wait fills it.
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        while rustix::io::write(&writer, &[0; 4096]).is_ok() {}
        rustix::io::ioctl_fionbio(&writer, false).unwrap();
        assert_eq!(say_to(writer.as_raw_fd()), 0, "full");
        drop(reader);
        assert_eq!(say_to(writer.as_raw_fd()), 0, "without a reader");
        assert_eq!(say_to(-1), 0);
    }
}
