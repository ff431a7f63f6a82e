//! Memory from mmap(2).

use core::sync::atomic::AtomicU32;
use rustix::fd::BorrowedFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::ptr;

/// Memory that was mapped, and is unmapped when this is dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    start: *mut c_void,
    length: usize,
}

// SAFETY: the memory belongs to no thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Memory full of zeros, which takes space only where it is written.
    pub(super) fn zeroed(length: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: memory at a place of the kernel's choice.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), length, protection, MapFlags::PRIVATE) }?;
        Ok(Self { start, length })
    }

    /// The memory that a ring shares with the kernel, at this offset.
    pub(super) fn of_ring(ring: BorrowedFd<'_>, offset: u64, length: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: memory at a place of the kernel's choice.
        let start = unsafe {
            mmap(
                ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED,
                ring,
                offset,
            )
        }?;
        Ok(Self { start, length })
    }

    /// A pointer to a value at this offset, with as much memory behind it as `T` needs.
    pub(super) fn at<T>(&self, offset: usize) -> *mut T {
        assert!(offset + size_of::<T>() <= self.length);
        self.start.cast::<u8>().wrapping_add(offset).cast()
    }

    /// A number at this offset, which the kernel may change.
    pub(super) fn word(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: `at` checks the bounds; the kernel and this process use such words as atomics.
        unsafe { AtomicU32::from_ptr(self.at(offset as usize)) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped by this type, and no reference to it is left.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}
