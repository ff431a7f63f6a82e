//! The one error for the numbers that the operating system answers with, the reasons why a file is not trusted, and whether the
//! process may still make system calls.

use core::fmt;
#[cfg(unix)]
use rustix::io::Errno;

/// An error number of the operating system, such as `ENOENT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OsError(i32);

/// Windows's `ERROR_FILE_NOT_FOUND` and `ERROR_NOT_SUPPORTED`.
#[cfg(windows)]
const NOT_FOUND_AND_UNSUPPORTED: [i32; 2] = [2, 50];
/// Windows's `ERROR_DIRECTORY`.
#[cfg(windows)]
const NO_FOLDER: i32 = 267;
#[cfg(unix)]
const NO_FOLDER: i32 = libc::ENOTDIR;
#[cfg(unix)]
const NOT_FOUND_AND_UNSUPPORTED: [i32; 2] = [libc::ENOENT, libc::ENOTSUP];

impl OsError {
    /// The system has no such thing.
    pub const UNSUPPORTED: Self = Self(NOT_FOUND_AND_UNSUPPORTED[1]);

    /// The error with this number, one of libc's constants.
    #[must_use]
    pub const fn new(number: i32) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> i32 {
        self.0
    }

    /// Whether the path leads through something that is not a folder.
    #[must_use]
    pub const fn is_no_folder(self) -> bool {
        self.0 == NO_FOLDER
    }

    /// Whether there is no file of that name.
    #[must_use]
    pub const fn is_not_found(self) -> bool {
        self.0 == NOT_FOUND_AND_UNSUPPORTED[0]
    }
}

impl fmt::Display for OsError {
    /// The system's text and the number: "Permission denied (os error 13)".
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::io::Error::from_raw_os_error(self.0).fmt(f)
    }
}

impl core::error::Error for OsError {}

#[cfg(unix)]
impl From<Errno> for OsError {
    fn from(error: Errno) -> Self {
        Self(error.raw_os_error())
    }
}

impl From<OsError> for std::io::Error {
    fn from(error: OsError) -> Self {
        Self::from_raw_os_error(error.0)
    }
}

/// Where libc keeps the number of the last error of this thread.
#[cfg(unix)]
pub(crate) fn errno() -> *mut i32 {
    // SAFETY: they have no precondition.
    unsafe {
        #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
        return libc::__error();
        #[cfg(target_os = "netbsd")]
        return libc::__errno();
        #[cfg(target_os = "linux")]
        return libc::__errno_location();
    }
}

/// Makes a call, and leaves libc's `errno` as it was: code that a signal handler interrupted may be about to look at it.
#[cfg(unix)]
pub(crate) fn keep_errno<T>(call: impl FnOnce() -> T) -> T {
    let errno = errno();
    // By its address and not by a reference, since libc writes it during the call.
    // SAFETY: this thread's own number, which lives as long as the thread.
    let before = unsafe { *errno };
    let answer = call();
    // SAFETY: as above.
    unsafe { *errno = before };
    answer
}

/// Makes a system call that rustix does not have, by way of libc, and leaves libc's `errno` as it was.
#[cfg(target_os = "linux")]
pub(crate) fn raw_call(call: impl FnOnce() -> libc::c_long) -> Result<libc::c_long, OsError> {
    // SAFETY: this thread's own number.
    let (answer, number) = keep_errno(|| (call(), unsafe { *errno() }));
    if answer == -1 {
        Err(OsError(number))
    } else {
        Ok(answer)
    }
}

// Why a file is not trusted.

/// The reason why a file is not trusted, or cannot be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFault {
    /// The name is a symbolic link: another file could be behind it at any time.
    Link,
    /// It is not a regular file.
    NotAFile,
    /// It belongs to a user other than root and the user of this process.
    Owner,
    /// Its owner has no number in this user namespace, like the host's root in a container. So the owner may be root
    /// or another user.
    Unmapped,
    /// Users other than its owner can write it.
    Exposed,
    /// Another process is replacing it, or holds its lock.
    Busy,
    /// An error of the operating system.
    System(OsError),
}

impl FileFault {
    /// Whether the name leads to the wrong file: a link, no regular file, or a file of another user.
    #[must_use]
    pub const fn is_wrong_file(self) -> bool {
        matches!(
            self,
            Self::Link | Self::NotAFile | Self::Owner | Self::Unmapped | Self::Exposed
        )
    }
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Link => "it is a symbolic link",
            Self::NotAFile => "it is not a regular file",
            Self::Owner => "it belongs to another user",
            Self::Unmapped => "its owner has no number in this user namespace",
            Self::Exposed => "other users can write it",
            Self::Busy => "another process is writing it or holds its lock",
            Self::System(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for FileFault {}

pub(crate) mod system_calls {
    //! Whether this process may still make system calls.

    use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// How many callers have forbidden them.
    static FORBIDDEN: AtomicU32 = AtomicU32::new(0);

    /// The time that clocks show after [`forbid`], in milliseconds; 0 if they can be read without a system call.
    static STOPPED_MS: AtomicU64 = AtomicU64::new(0);

    /// From now on this process and its children make no system calls. `stopped_ms` is the time that clocks show from
    /// now on, if no clock can be read without a system call.
    pub(crate) fn forbid(stopped_ms: Option<u64>) {
        if let Some(stopped_ms) = stopped_ms {
            STOPPED_MS.store(stopped_ms.max(1), Ordering::Relaxed);
        }
        FORBIDDEN.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes back one call of [`forbid`].
    pub(crate) fn allow_again() {
        FORBIDDEN.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a call of [`forbid`] was not taken back.
    #[inline]
    pub(crate) fn are_forbidden() -> bool {
        FORBIDDEN.load(Ordering::Relaxed) != 0
    }

    /// The time at which clocks stopped, if they did.
    pub(crate) fn stopped_ms() -> Option<u64> {
        let stopped_ms = STOPPED_MS.load(Ordering::Relaxed);
        (stopped_ms != 0 && are_forbidden()).then_some(stopped_ms)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_it_means_and_its_number() {
        let text = OsError::from(Errno::ACCESS).to_string();
        assert_eq!(text, "Permission denied (os error 13)");
        assert!(OsError::new(libc::ENOENT).is_not_found());
    }
}
