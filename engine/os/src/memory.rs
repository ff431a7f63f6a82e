//! Pages that are locked, left out of core dumps, and wiped in a child process.

use crate::lock_limit;
use crate::system::pages;
use crate::system_calls;
use crate::zeroed::{Zeroed, assert_zeroed};
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::{self, NonNull};
use core::slice;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};
use std::alloc::alloc;

/// The system gave no memory, or no memory that a child process finds wiped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryError;

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of memory")
    }
}

impl core::error::Error for MemoryError {}

/// Moves a value to the heap. `Box::new` would end the process where there is no memory.
///
/// # Errors
///
/// There is no memory.
pub fn try_box<T>(value: T) -> Result<Box<T>, MemoryError> {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the size is not zero.
    let place: *mut T = unsafe { alloc(Layout::new::<T>()) }.cast();
    if place.is_null() {
        return Err(MemoryError);
    }
    // SAFETY: fresh memory of the right layout, allocated as a `Box` does.
    Ok(unsafe {
        place.write(value);
        Box::from_raw(place)
    })
}

/// An empty vector with room for `capacity` values.
///
/// # Errors
///
/// There is no memory.
pub fn try_vec<T>(capacity: usize) -> Result<Vec<T>, MemoryError> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(capacity)
        .map_err(|_| MemoryError)?;
    Ok(values)
}

/// Zeros `memory`, which may have no value yet, and returns it as bytes.
#[inline]
pub fn zeroed_bytes(memory: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    memory.fill(MaybeUninit::new(0));
    // SAFETY: each byte has a value now; the pointer, the length and the lifetime are those of the argument, which this
    // borrows exclusively.
    unsafe { slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), memory.len()) }
}

/// Whether a child finds secret memory wiped because the kernel wipes it, in every kind of fork; else a handler of fork(3)
/// does it. Known once the process has such memory.
#[must_use]
pub fn is_wiped_by_kernel() -> bool {
    pages::is_wiped_by_kernel()
}

/// Bytes of [`Wiped`] memory that are not locked.
static UNLOCKED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// How many bytes of [`Wiped`] memory are not locked. [`locked_memory`](crate::locked_memory) counts all secret memory.
pub(crate) fn unlocked_bytes() -> usize {
    UNLOCKED_BYTES.load(Ordering::Relaxed)
}

/// A private mapping of zeroed pages, wiped on fork, not dumped, not yet locked.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    bytes: usize,
    /// Whether the pages are counted as not locked. In ordinary memory, as the count is.
    is_unlocked: AtomicBool,
}

impl Pages {
    pub(crate) fn map(bytes: usize) -> Result<Self, MemoryError> {
        Ok(Self {
            start: pages::map(bytes).ok_or(MemoryError)?,
            bytes,
            is_unlocked: AtomicBool::new(false),
        })
    }

    /// Maps at least `bytes` bytes, preferably of NUMA node `node`, and locks them. Not generic, so compiled once.
    fn map_locked(bytes: usize, node: Option<u32>) -> Result<Self, MemoryError> {
        let pages = Self::map(bytes.next_multiple_of(4096).max(4096))?;
        if let Some(node) = node {
            // SAFETY: the range is ours.
            unsafe { pages::prefer_node(pages.start.as_ptr(), pages.bytes, node) };
        }
        lock_limit::add_wiped(pages.bytes);
        pages.lock();
        Ok(pages)
    }

    /// Locks the pages, or counts them as not locked.
    fn lock(&self) {
        let may_lock = !system_calls::are_forbidden() && lock_limit::allows_wiped();
        // SAFETY: the range is ours.
        let is_locked = may_lock && unsafe { pages::lock(self.start.as_ptr(), self.bytes) };
        self.count(!is_locked);
    }

    fn count(&self, is_unlocked: bool) {
        let was_unlocked = self.is_unlocked.swap(is_unlocked, Ordering::Relaxed);
        if is_unlocked && !was_unlocked {
            UNLOCKED_BYTES.fetch_add(self.bytes, Ordering::Relaxed);
        }
        if was_unlocked && !is_unlocked {
            UNLOCKED_BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Keeps the mapping until the process ends.
    pub(crate) fn leak(self) -> NonNull<u8> {
        let start = self.start;
        core::mem::forget(self);
        start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.count(false);
        // SAFETY: the mapping is ours alone and ends here.
        unsafe {
            erase(self.start.as_ptr(), self.bytes);
            pages::unmap(self.start.as_ptr(), self.bytes);
        }
    }
}

/// Overwrites memory with zeros. The compiler cannot remove the writes.
///
/// # Safety
///
/// `bytes` bytes from `start` are writable, and no other code uses them now.
pub(crate) unsafe fn erase(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise. The mapping's address came from the kernel, so the compiler cannot know
    // that the zeros are never read; the fence keeps the writes before what follows.
    unsafe { ptr::write_bytes(start, 0, bytes) };
    compiler_fence(Ordering::SeqCst);
}

/// Like [`erase`], but writes to no line that is zeros already: memory that was never used stays unused.
///
/// # Safety
///
/// As for [`erase`].
pub(crate) unsafe fn erase_used(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    let memory = unsafe { core::slice::from_raw_parts_mut(start, bytes) };
    for line in memory.chunks_mut(64) {
        if line.iter().fold(0, |all, byte| all | byte) != 0 {
            // SAFETY: the line is within the memory.
            unsafe { erase(line.as_mut_ptr(), line.len()) };
        }
    }
}

/// A value in pages of its own, wiped on fork and erased on drop.
///
/// It starts as `T::ZERO`, and a child process finds `T::ZERO`. `T` is shared: it consists of
/// atomics and [locks](crate::lock::Lock).
#[derive(Debug)]
pub struct Wiped<T> {
    /// Erased when they are unmapped.
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
        let pages = Pages::map_locked(size_of::<T>(), node)?;
        Ok(Self {
            pages,
            value: PhantomData,
        })
    }

    /// Locks the pages in memory: to be called again in a child process, which does not inherit locks.
    pub fn lock_pages(&self) {
        self.pages.lock();
    }
}

impl<T> Drop for Wiped<T> {
    fn drop(&mut self) {
        lock_limit::remove_wiped(self.pages.bytes);
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
