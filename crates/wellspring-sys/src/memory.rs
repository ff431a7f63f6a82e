//! Pages that are locked, left out of core dumps, and wiped in a child process.

use crate::zeroed::{Zeroed, assert_zeroed};
use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use rustix::mm::{Advice, MapFlags, ProtFlags};

/// The system gave no memory that a child process would find wiped: none is left, or the kernel is older
/// than 4.14.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryError;

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no memory that is wiped on fork (out of memory, or Linux before 4.14)")
    }
}

impl core::error::Error for MemoryError {}

/// Bytes of secret memory that the system refused to lock, in this process so far.
static UNLOCKED_BYTES: AtomicU64 = AtomicU64::new(0);

/// How many bytes of secret memory may reach a swap device because locking them was refused: beyond
/// `RLIMIT_MEMLOCK`, as a rule 8 MiB.
#[must_use]
pub fn unlocked_bytes() -> u64 {
    UNLOCKED_BYTES.load(Ordering::Relaxed)
}

/// Keeps a range in memory, if the system lets us.
pub(crate) fn lock(start: *mut u8, bytes: usize) {
    // SAFETY: mlock2 changes no byte, and checks the range itself.
    let locked = unsafe { rustix::mm::mlock(start.cast(), bytes) };
    if locked.is_err() {
        UNLOCKED_BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A private mapping of zeroed pages, wiped on fork, not dumped, not yet locked.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

impl Pages {
    pub(crate) fn map(bytes: usize) -> Result<Self, MemoryError> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping where the kernel likes; nobody else knows of it.
        let start = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, access, MapFlags::PRIVATE)
        };
        let start = start.ok().and_then(|start| NonNull::new(start.cast()));
        let pages = Self {
            start: start.ok_or(MemoryError)?,
            bytes,
        };
        pages
            .advise(Advice::LinuxWipeOnFork)
            .map_err(|_| MemoryError)?;
        // Kernels without core dumps may refuse; then there is nothing to be left out of.
        let _ = pages.advise(Advice::LinuxDontDump);
        Ok(pages)
    }

    fn advise(&self, advice: Advice) -> rustix::io::Result<()> {
        let start = self.start.as_ptr().cast::<c_void>();
        // SAFETY: the range is ours, and neither advice changes what this process reads there.
        unsafe { rustix::mm::madvise(start, self.bytes, advice) }
    }

    /// Asks for memory of a NUMA node. A wish: where it cannot be met, memory comes from elsewhere.
    fn prefer_node(&self, node: u32) {
        const MPOL_PREFERRED: libc::c_long = 1;
        if node >= u64::BITS {
            return;
        }
        let mask = 1u64 << node;
        // SAFETY: mbind reads the mask, 64 bits of it (the kernel takes one less than the count it is told),
        // and the range is ours.
        unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start.as_ptr(),
                self.bytes,
                MPOL_PREFERRED,
                &raw const mask,
                u64::from(u64::BITS) + 1,
                0,
            )
        };
    }

    /// Keeps the mapping for as long as the process lives.
    pub(crate) fn leak(self) -> NonNull<u8> {
        let start = self.start;
        core::mem::forget(self);
        start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone and ends here.
        unsafe {
            erase(self.start.as_ptr(), self.bytes);
            let _ = rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes);
        }
    }
}

/// Zeroes memory for good.
///
/// # Safety
///
/// `bytes` bytes from `start` are writable, and nobody else uses them now.
pub(crate) unsafe fn erase(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise. The mapping's address came from the kernel, so that the compiler cannot
    // know that nobody reads it; the fence keeps the writes before what follows.
    unsafe { ptr::write_bytes(start, 0, bytes) };
    compiler_fence(Ordering::SeqCst);
}

/// A value in pages of its own, wiped on fork and erased on drop.
///
/// `T::ZERO` is what it starts as and what a child process finds. `T` is shared: it
/// consists of atomics and [locks](crate::lock::Lock).
#[derive(Debug)]
pub struct Wiped<T> {
    pages: Pages,
    value: PhantomData<T>,
}

impl<T: Zeroed + Sync> Wiped<T> {
    /// Maps and locks the pages, preferably of NUMA node `node` (the system's number).
    ///
    /// # Errors
    ///
    /// When the system has no such memory.
    pub fn new(node: Option<u32>) -> Result<Self, MemoryError> {
        const {
            assert_zeroed::<T>();
            assert!(align_of::<T>() <= 4096);
        }
        let pages = Pages::map(size_of::<T>().next_multiple_of(4096).max(4096))?;
        if let Some(node) = node {
            pages.prefer_node(node);
        }
        let wiped = Self {
            pages,
            value: PhantomData,
        };
        wiped.lock_pages();
        Ok(wiped)
    }

    /// Locks the pages in memory: to be called again in a child process, which does not inherit locks.
    pub fn lock_pages(&self) {
        lock(self.pages.start.as_ptr(), self.pages.bytes);
    }
}

impl<T: Zeroed + Sync> Deref for Wiped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the mapping is large enough and page-aligned, lives as long as `self`, and holds a valid
        // `T`: all zeros at first, and again in a child, where the kernel's wipe happens before the child
        // runs an instruction.
        unsafe { self.pages.start.cast().as_ref() }
    }
}

// SAFETY: the pages are owned, not tied to a thread.
unsafe impl<T: Send> Send for Wiped<T> {}
// SAFETY: a shared `Wiped<T>` gives `&T` and nothing else.
unsafe impl<T: Sync> Sync for Wiped<T> {}
