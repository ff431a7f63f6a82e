//! The system's generator.

use crate::os_error::OsError;

#[link(name = "bcryptprimitives", kind = "raw-dylib")]
unsafe extern "system" {
    fn ProcessPrng(start: *mut u8, bytes: usize) -> i32;
}

/// Fills the destination by ProcessPrng, which does not fail on Windows 10 and later.
pub(crate) fn fill(destination: &mut [u8]) -> Result<(), OsError> {
    // SAFETY: the range is ours to write.
    match unsafe { ProcessPrng(destination.as_mut_ptr(), destination.len()) } {
        0 => Err(OsError::UNSUPPORTED),
        _ => Ok(()),
    }
}
