//! Memory that a handler of fork(3) wipes in the child, where no kernel does: on macOS.
//!
//! The handler maps fresh zeroed pages in the place of the old ones. It is registered before the first page is mapped, and
//! a child runs such handlers in the order of their registration. So a child that fork(3) made finds all wiped, except in
//! handlers that other code registered before.
//!
//! A child that ran no handler (a raw system call made it, or it is in such an earlier handler) keeps the parent's bytes
//! until [`look`] finds another process number: before a tap takes a key or fills its buffer, and before any lock. What
//! its parent's taps had in their buffers, it can repeat. `SECURITY.md` says so.

use super::fork::at_fork;
use crate::system_calls;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// The most mappings at a time; one more finds no memory. An engine has about five.
const MAX_MAPPINGS: usize = 1 << 14;

/// A mapping to be wiped in a child.
struct Mapping {
    /// Null where there is none.
    start: AtomicPtr<u8>,
    bytes: AtomicUsize,
}

static MAPPINGS: [Mapping; MAX_MAPPINGS] = [const {
    Mapping {
        start: AtomicPtr::new(ptr::null_mut()),
        bytes: AtomicUsize::new(0),
    }
}; MAX_MAPPINGS];

/// How many were ever in use at once: the rest is never looked at.
static USED: AtomicUsize = AtomicUsize::new(0);

/// The process that has wiped what its parent left, or mapped the first page.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The place of a mapping whose length is not noted yet.
const RESERVED: *mut u8 = ptr::dangling_mut();

/// Notes a mapping. Returns whether a child will find it wiped.
///
/// # Safety
///
/// The range is a mapping, of this process alone, until [`disarm`].
pub(super) unsafe fn arm(start: NonNull<u8>, bytes: usize) -> bool {
    prepare();
    let (null, relaxed) = (ptr::null_mut(), Ordering::Relaxed);
    let is_taken = |mapping: &Mapping| {
        mapping
            .start
            .compare_exchange(null, RESERVED, Ordering::Acquire, relaxed)
            .is_ok()
    };
    let Some(number) = MAPPINGS.iter().position(is_taken) else {
        return false;
    };
    let mapping = &MAPPINGS[number];
    mapping.bytes.store(bytes, relaxed);
    USED.fetch_max(number + 1, Ordering::AcqRel);
    mapping.start.store(start.as_ptr(), Ordering::Release);
    true
}

/// A mapping is about to end: its bytes are erased.
pub(super) fn disarm(start: *mut u8) {
    let mut mappings = mappings().iter();
    if let Some(mapping) = mappings.find(|mapping| mapping.start.load(Ordering::Relaxed) == start) {
        mapping.start.store(ptr::null_mut(), Ordering::Release);
    }
}

fn mappings() -> &'static [Mapping] {
    &MAPPINGS[..USED.load(Ordering::Acquire)]
}

/// Registers the handler. Two threads may both do so, which does no harm.
fn prepare() {
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
    extern "C" fn nothing() {}

    if !IS_REGISTERED.load(Ordering::Acquire) {
        PROCESS.store(std::process::id(), Ordering::Relaxed);
        at_fork(nothing, nothing, wipe);
        IS_REGISTERED.store(true, Ordering::Release);
    }
}

/// Wipes all mappings in a child.
extern "C" fn wipe() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    for mapping in mappings() {
        let start = mapping.start.load(Ordering::Acquire);
        if start.is_null() || start == RESERVED {
            continue;
        }
        let bytes = mapping.bytes.load(Ordering::Relaxed);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
        // SAFETY: the range is a mapping of ours, which `disarm` has not removed. Where the system has no memory, its
        // bytes are overwritten. Other code of this process sees what it would see if the kernel had wiped it.
        unsafe {
            let fresh = libc::mmap(start.cast(), bytes, access, flags, -1, 0);
            if fresh == libc::MAP_FAILED {
                ptr::write_bytes(start, 0, bytes);
            }
        }
    }
}

/// Wipes all if this process is a child that ran no handler. getpid(2) is a load on macOS, and a system call on Linux, where
/// tests build this.
#[inline]
pub(super) fn look() {
    if cfg!(target_os = "linux") && system_calls::are_forbidden() {
        return;
    }
    let process = PROCESS.load(Ordering::Relaxed);
    if process != 0 && process != std::process::id() {
        wipe();
    }
}
