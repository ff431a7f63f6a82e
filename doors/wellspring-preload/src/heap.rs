//! An allocator that does not use malloc(3), whose lock the caller may hold.
//!
//! An engine allocates only while it is built, about 20 KiB for one NUMA node. So this allocator never frees, and needs
//! no lock.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The size of a mapping in bytes, unless one allocation needs more.
const CHUNK_BYTES: usize = 1 << 20;

struct Heap {
    /// The next free address.
    next: AtomicUsize,
    /// The end of the mapping that contains `next`. The end of a new mapping is stored before its `next`. A thread that
    /// reads between the two stores finds an end that does not fit, and makes one more mapping.
    end: AtomicUsize,
}

#[global_allocator]
static HEAP: Heap = Heap {
    next: AtomicUsize::new(0),
    end: AtomicUsize::new(0),
};

// SAFETY: each call moves `next` over what it returns, by a compare and exchange, so that no two overlap.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        if size >= CHUNK_BYTES / 4 || align > 4096 {
            return map(size, align);
        }
        loop {
            let next = self.next.load(Ordering::Acquire);
            let start = next.next_multiple_of(align);
            let end = self.end.load(Ordering::Acquire);
            if end.wrapping_sub(CHUNK_BYTES) < next && start + size <= end {
                let moved = self.next.compare_exchange(
                    next,
                    start + size,
                    Ordering::AcqRel,
                    Ordering::Acquire,
                );
                if moved.is_ok() {
                    return ptr::with_exposed_provenance_mut(start);
                }
                continue;
            }
            let chunk = map(CHUNK_BYTES, 4096);
            if chunk.is_null() {
                return chunk;
            }
            let chunk = chunk.expose_provenance();
            self.end.store(chunk + CHUNK_BYTES, Ordering::Release);
            // Not the first byte: the end of one mapping may be the beginning of another.
            self.next.store(chunk + 1, Ordering::Release);
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

/// Maps fresh pages of zeros. Returns null if the system has none.
fn map(size: usize, align: usize) -> *mut u8 {
    let extra = if align > 4096 { align } else { 0 };
    let Some(bytes) = size.checked_add(extra) else {
        return ptr::null_mut();
    };
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, at an address that the kernel chooses. By system call, because another preloaded library
    // may replace libc's mmap.
    let start = crate::system::call(
        libc::SYS_mmap,
        [0, bytes, access as usize, kind as usize, usize::MAX, 0],
    );
    if start < 0 {
        return ptr::null_mut();
    }
    ptr::with_exposed_provenance_mut((start as usize).next_multiple_of(align))
}
