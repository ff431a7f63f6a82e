//! Pages by VirtualAlloc. There are no children to wipe them for.
//!
//! VirtualLock locks no more than the working set of the process allows, about 200 KiB unless the program asks for more. A
//! dump of the process has all its memory.

use core::ffi::c_void;
use core::ptr::{self, NonNull};

#[link(name = "kernel32")]
unsafe extern "system" {
    fn VirtualAlloc(address: *mut c_void, bytes: usize, kind: u32, access: u32) -> *mut c_void;
    fn VirtualFree(address: *mut c_void, bytes: usize, kind: u32) -> i32;
    fn VirtualLock(address: *mut c_void, bytes: usize) -> i32;
}

const MEM_COMMIT_RESERVE: u32 = 0x1000 | 0x2000;
const MEM_RELEASE: u32 = 0x8000;
const PAGE_READWRITE: u32 = 4;

/// Maps zeroed pages.
pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping where the system likes.
    let start = unsafe { VirtualAlloc(ptr::null_mut(), bytes, MEM_COMMIT_RESERVE, PAGE_READWRITE) };
    NonNull::new(start.cast())
}

/// Unmaps pages.
///
/// # Safety
///
/// The range is from [`map`], and no code uses it any more.
pub(crate) unsafe fn unmap(start: *mut u8, _bytes: usize) {
    // SAFETY: the caller's promise. To release a mapping its length must be 0.
    unsafe { VirtualFree(start.cast(), 0, MEM_RELEASE) };
}

/// Locks pages in memory. Returns whether the system agreed.
///
/// # Safety
///
/// The range is from [`map`].
pub(crate) unsafe fn lock(start: *mut u8, bytes: usize) -> bool {
    // SAFETY: it changes no byte, and checks the range itself.
    unsafe { VirtualLock(start.cast(), bytes) != 0 }
}

/// The same. Windows locks all pages at once, untouched ones too.
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

/// Nothing: there is no fork.
#[inline(always)]
pub(crate) fn look_for_fork() {}

/// Nothing, as [`look_for_fork`].
pub(crate) fn in_child() {}

/// There is no child that could find anything else.
pub(crate) fn is_wiped_by_kernel() -> bool {
    true
}
