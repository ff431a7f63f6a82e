//! Memory that the kernel zeroes in a child, for every kind of fork: minherit(2), madvise(2) on Linux.

use core::ffi::c_void;
use core::ptr::NonNull;

/// Asks the kernel to zero a mapping in each child. Returns whether it will.
///
/// # Safety
///
/// The range is a mapping.
pub(crate) unsafe fn arm(start: NonNull<u8>, bytes: usize) -> bool {
    let start = start.as_ptr().cast::<c_void>();
    #[cfg(target_os = "linux")]
    // SAFETY: the advice changes what a child reads, and nothing in this process.
    let answer = unsafe { libc::madvise(start, bytes, libc::MADV_WIPEONFORK) };
    #[cfg(target_os = "freebsd")]
    // SAFETY: as above.
    let answer = unsafe { libc::minherit(start, bytes, libc::INHERIT_ZERO) };
    #[cfg(target_os = "netbsd")]
    // SAFETY: as above.
    let answer = unsafe { libc::minherit(start, bytes, libc::MAP_INHERIT_ZERO) };
    answer == 0
}

/// A mapping is about to end.
pub(crate) fn disarm(_: *mut u8) {}

/// Nothing: the kernel has wiped all before a child runs an instruction.
#[inline(always)]
pub(crate) fn look() {}

/// Nothing, as [`look`].
pub(crate) fn in_child() {}
