//! The system's generator.

use super::threads::{errno, keep_errno};
use crate::os_error::OsError;

/// Fills up to 256 bytes by getentropy(2), which waits only until the system's generator was seeded once.
pub(crate) fn fill(destination: &mut [u8]) -> Result<(), OsError> {
    let (start, length) = (destination.as_mut_ptr().cast(), destination.len());
    keep_errno(|| {
        // SAFETY: the range is ours to write.
        match unsafe { libc::getentropy(start, length) } {
            0 => Ok(()),
            // SAFETY: this thread's own number.
            _ => Err(OsError::new(unsafe { *errno() })),
        }
    })
}
