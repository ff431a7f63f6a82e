//! Pages that a child finds zeroed, by mmap(2) and mlock(2).

use super::threads::keep_errno;
use super::wipe;
use core::ffi::c_void;
use core::ptr::{self, NonNull};

pub(crate) use super::wipe::in_child;

/// Maps zeroed pages, which a child finds zeroed again, and which no core dump has where the system can leave them out.
pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
    keep_errno(|| {
        // SAFETY: a new mapping where the kernel likes; nothing else uses it.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        leave_out_of_dumps(start, bytes);
        let pages = NonNull::new(start.cast::<u8>())?;
        // SAFETY: the mapping is new, and nothing uses it if it cannot be armed.
        unsafe {
            if !wipe::arm(pages, bytes) {
                libc::munmap(start, bytes);
                return None;
            }
        }
        Some(pages)
    })
}

/// Puts fresh zeroed pages of the same kind in the place of old ones. Returns `false`, and changes nothing, where the
/// system has no memory.
///
/// # Safety
///
/// The range is from [`map`].
#[cfg(any(target_vendor = "apple", wellspring_test_at_fork))]
pub(crate) unsafe fn renew(start: *mut u8, bytes: usize) -> bool {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
    keep_errno(|| {
        // SAFETY: the caller's promise: the mapping is ours to replace.
        let fresh = unsafe { libc::mmap(start.cast(), bytes, access, flags, -1, 0) };
        if fresh != libc::MAP_FAILED {
            leave_out_of_dumps(fresh, bytes);
        }
        fresh != libc::MAP_FAILED
    })
}

/// Whether the kernel wipes pages in a child.
pub(crate) fn is_wiped_by_kernel() -> bool {
    cfg!(not(any(target_vendor = "apple", wellspring_test_at_fork)))
}

/// macOS writes no core dumps unless it is told to, and has no such advice; nor has NetBSD.
fn leave_out_of_dumps(_start: *mut c_void, _bytes: usize) {
    #[cfg(target_os = "freebsd")]
    // SAFETY: the advice changes no byte.
    unsafe {
        libc::madvise(_start, _bytes, libc::MADV_NOCORE);
    }
    #[cfg(target_os = "linux")]
    // SAFETY: as above.
    unsafe {
        libc::madvise(_start, _bytes, libc::MADV_DONTDUMP);
    }
}

/// Unmaps pages.
///
/// # Safety
///
/// The range is from [`map`], and no code uses it any more.
pub(crate) unsafe fn unmap(start: *mut u8, bytes: usize) {
    wipe::disarm(start);
    // SAFETY: the caller's promise.
    keep_errno(|| unsafe { libc::munmap(start.cast(), bytes) });
}

/// Locks pages in memory. Returns whether the system agreed.
///
/// # Safety
///
/// The range is from [`map`].
pub(crate) unsafe fn lock(start: *mut u8, bytes: usize) -> bool {
    // SAFETY: mlock changes no byte, and checks the range itself.
    keep_errno(|| unsafe { libc::mlock(start.cast(), bytes) }) == 0
}

/// The same. These systems lock all pages at once, untouched ones too.
///
/// # Safety
///
/// The range is from [`map`].
pub(crate) unsafe fn lock_when_touched(start: *mut u8, bytes: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { lock(start, bytes) }
}

/// Nothing: all memory is of one node here.
///
/// # Safety
///
/// None is needed.
pub(crate) unsafe fn prefer_node(_: *mut u8, _: usize, _: u32) {}

/// Wipes the parent's bytes, if this process is a child where nothing has wiped them. Call it before you use a state
/// that was not found current, and before you take a lock.
#[inline]
pub(crate) fn look_for_fork() {
    wipe::look();
}
