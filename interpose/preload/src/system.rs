//! Beneath the library: system calls and errno, the original functions that ours replace, and an allocator.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::asm;
use core::ffi::{CStr, c_int, c_long, c_uint, c_void};
use core::sync::atomic::Ordering::{self, Relaxed};
use core::sync::atomic::{AtomicPtr, AtomicUsize};
use core::{mem, ptr};

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the preload library knows the system calls of x86-64 and aarch64");

/// Makes a system call. Returns a negative error number on failure, and does not change errno.
pub(crate) fn call(number: c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: the kernel's convention. The effect of the call is justified where `call` is used, or is the
    // responsibility of the program that called the exported function.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d, in("x4") e,
            in("x5") f, options(nostack));
    }
    result
}

/// Turns a result of [`call`] into a C library function's result: for an error it sets errno and returns -1.
pub(crate) fn returned(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        set_errno(-result as c_int);
        return -1;
    }
    result
}

/// Makes the system call getrandom(2). Returns a negative error number on failure.
pub(crate) fn getrandom(destination: *mut c_void, length: usize, flags: c_uint) -> isize {
    let address = destination.expose_provenance();
    call(
        libc::SYS_getrandom,
        [address, length, flags as usize, 0, 0, 0],
    )
}

pub(crate) fn set_errno(number: c_int) {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = number };
}

/// Restores errno on drop: a call that succeeds does not change errno.
pub(crate) struct KeptErrno {
    place: *mut c_int,
    number: c_int,
}

impl KeptErrno {
    pub(crate) fn new() -> Self {
        // SAFETY: no precondition.
        let place = unsafe { libc::__errno_location() };
        // SAFETY: the thread's own errno.
        let number = unsafe { *place };
        Self { place, number }
    }
}

impl Drop for KeptErrno {
    fn drop(&mut self) {
        // SAFETY: as above; a guard stays on its thread.
        unsafe { *self.place = self.number };
    }
}

// ---- the original functions ----

/// An original function, looked up once.
pub(crate) struct Next {
    name: &'static CStr,
    function: AtomicPtr<libc::c_void>,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            function: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Looks up the function. Not for a signal handler: it calls dlsym(3).
    pub(crate) fn find(&self) {
        // SAFETY: a name.
        let function = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.function.store(function, Ordering::Release);
    }

    /// Returns the function, if it was found, as a function pointer of type `F`.
    ///
    /// # Safety
    ///
    /// `F` is the type of this function.
    pub(crate) unsafe fn get<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut libc::c_void>()) };
        let function = self.function.load(Ordering::Acquire);
        // SAFETY: not null; the caller's promise.
        (!function.is_null()).then(|| unsafe { mem::transmute_copy(&function) })
    }

    /// Like [`get`](Self::get), but first looks up the function if it was not found before. Not for a signal handler.
    ///
    /// # Safety
    ///
    /// `F` is the type of this function.
    pub(crate) unsafe fn get_or_find<F: Copy>(&self) -> Option<F> {
        // SAFETY: the same contract.
        unsafe { self.get() }.or_else(|| {
            self.find();
            // SAFETY: the same contract.
            unsafe { self.get() }
        })
    }
}

// ---- heap ----
// An allocator that does not use malloc(3), whose lock the caller may hold.
//
// An engine allocates only while it is built: 19 KiB for one NUMA node, 24 KiB for 64. Rust ends a process when it has no
// memory for it, so [`reserve`] maps all of that first, for the thread that is about to build; without it the kernel answers
// the program.
//
// The memory is never given back. The block that was freed last is used again. Files about NUMA nodes are read into a buffer
// of 8 KiB each.

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
    let start = call(
        libc::SYS_mmap,
        [0, size, access as usize, kind as usize, usize::MAX, 0],
    );
    if start < 0 {
        return ptr::null_mut();
    }
    ptr::with_exposed_provenance_mut(start as usize)
}
