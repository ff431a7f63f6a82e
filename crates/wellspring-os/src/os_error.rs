//! The one error for the numbers that the operating system answers with.

use core::fmt;
use rustix::io::Errno;

/// An error number of the operating system, such as `ENOENT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OsError(i32);

impl OsError {
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

    /// Whether there is no file of that name.
    #[must_use]
    pub const fn is_not_found(self) -> bool {
        self.0 == libc::ENOENT
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

/// Makes a system call that rustix does not have, by way of libc, and leaves libc's `errno` as it was: code that a
/// signal handler interrupted may be about to look at it.
pub(crate) fn raw_call(call: impl FnOnce() -> libc::c_long) -> Result<libc::c_long, OsError> {
    // SAFETY: it has no precondition.
    let errno = unsafe { libc::__errno_location() };
    // By its address and not by a reference, since libc writes it during the call.
    // SAFETY: this thread's own number, which lives as long as the thread.
    let before = unsafe { *errno };
    let answer = call();
    // SAFETY: as above.
    let after = unsafe { errno.replace(before) };
    if answer == -1 {
        Err(OsError(after))
    } else {
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_it_means_and_its_number() {
        let text = OsError::from(Errno::ACCESS).to_string();
        assert_eq!(text, "Permission denied (os error 13)");
        assert!(OsError::new(libc::ENOENT).is_not_found());
    }
}
