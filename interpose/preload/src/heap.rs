//! An allocator that does not use malloc(3), whose lock the caller may hold.
//!
//! An engine allocates only while it is built: 19 KiB for one NUMA node, 24 KiB for 64. Rust ends a process when it has no
//! memory for it, so [`reserve`] maps all of that first, for the thread that is about to build; without it the kernel answers
//! the program.
//!
//! The memory is never given back. The block that was freed last is used again. Files about NUMA nodes are read into a buffer
//! of 8 KiB each.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The bytes that [`reserve`] maps, and the bytes that must be left for another engine.
const REGION_BYTES: usize = 64 << 10;
const ENGINE_BYTES: usize = 40 << 10;

const PAGE_BYTES: usize = 4096;

/// The smallest block that is used again.
const LARGE_BYTES: usize = 4096;

/// The memory of a thread. Atomic, and each step by itself, for signal handlers: what one interrupts may lose a block, and
/// gives none to both.
struct Region {
    next: AtomicUsize,
    end: AtomicUsize,
    /// The address of the block that was freed last; its size is the first word of it.
    freed: AtomicUsize,
}

thread_local! {
    static REGION: Region = const {
        Region {
            next: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            freed: AtomicUsize::new(0),
        }
    };
}

/// Sees to it that this thread can build an engine. `false` if the system has no memory.
pub(crate) fn reserve() -> bool {
    REGION.with(|region| {
        let left = region
            .end
            .load(Relaxed)
            .wrapping_sub(region.next.load(Relaxed));
        if (ENGINE_BYTES..=REGION_BYTES).contains(&left) {
            return true;
        }
        let start = map(REGION_BYTES).addr();
        if start == 0 {
            return false;
        }
        // In between nothing fits.
        region.next.store(usize::MAX, Relaxed);
        region.end.store(start + REGION_BYTES, Relaxed);
        region.next.store(start, Relaxed);
        true
    })
}

impl Region {
    /// A block of this size, if there is room.
    fn take(&self, size: usize, align: usize) -> Option<usize> {
        let fits = |next: usize| {
            let end = next.checked_next_multiple_of(align)?.checked_add(size)?;
            (end <= self.end.load(Relaxed)).then_some(end)
        };
        let end = self.next.fetch_update(Relaxed, Relaxed, fits);
        end.ok().map(|next| next.next_multiple_of(align))
    }

    /// The block that was freed last, if this fits into it.
    fn take_freed(&self, size: usize, align: usize) -> Option<usize> {
        if size < LARGE_BYTES {
            return None;
        }
        let address = self.freed.swap(0, Relaxed);
        if address == 0 {
            return None;
        }
        // SAFETY: a block that was given back, and that left its place by the swap.
        let bytes = unsafe { ptr::with_exposed_provenance::<usize>(address).read_unaligned() };
        let fits = size <= bytes && address.is_multiple_of(align);
        if !fits {
            self.freed.store(address, Relaxed);
        }
        fits.then_some(address)
    }
}

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

// SAFETY: each block is taken once: `next` moves over it, or it was given back and leaves its place by a swap.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        let taken = REGION.with(|region| {
            let freed = region.take_freed(size, align);
            freed.or_else(|| region.take(size, align))
        });
        match taken {
            Some(address) => ptr::with_exposed_provenance_mut(address),
            // Nothing here asks for as much alignment.
            None if align > PAGE_BYTES => ptr::null_mut(),
            None => map(size),
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if layout.size() < LARGE_BYTES {
            return;
        }
        // SAFETY: the caller gives the block back, which has room for a word.
        unsafe { start.cast::<usize>().write_unaligned(layout.size()) };
        REGION.with(|region| region.freed.store(start.expose_provenance(), Relaxed));
    }
}

/// Maps fresh pages of zeros. Returns null if the system has none.
fn map(size: usize) -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, at an address that the kernel chooses. By system call, because another preloaded library
    // may replace libc's mmap.
    let start = crate::system::call(
        libc::SYS_mmap,
        [0, size, access as usize, kind as usize, usize::MAX, 0],
    );
    if start < 0 {
        return ptr::null_mut();
    }
    ptr::with_exposed_provenance_mut(start as usize)
}
