//! A guest's memory that the other end cuts off while the service uses it.
//!
//! The memory is a file that both ends have mapped. If the other end truncates it, an access beyond its new end raises
//! SIGBUS, which would end the service. So does an access to a huge page that the system cannot give. The handler maps
//! zeros over the page, and notes that memory is lost.
//!
//! Copies by system calls (preadv(2), pwritev(2)) would need no handler. They do not serve: no call writes to a file of
//! hugetlbfs, and none promises that the two bytes of a ring's index change at once.

use super::mapping::Mapping;
use core::cell::Cell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use parking_lot::Mutex;
use std::io;
use std::sync::OnceLock;

/// The mapped regions of one guest.
#[derive(Debug, Default)]
pub(super) struct Regions {
    pub(super) mapped: Vec<Mapping>,
    is_lost: AtomicBool,
}

thread_local! {
    /// The regions that this thread works on now.
    static CURRENT: Cell<*const Regions> = const { Cell::new(core::ptr::null()) };
}

/// The action before ours: that of Rust's runtime, which looks for overflows of a stack.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

impl Regions {
    /// Does `work` on the memory. Returns `None` if a region was lost, now or earlier.
    pub(super) fn guard<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.set(core::ptr::null());
            }
        }
        let reset = Reset;
        CURRENT.set(self);
        let done = work();
        drop(reset);
        (!self.is_lost.load(Relaxed)).then_some(done)
    }
}

/// Installs the handler, once in a process.
pub(super) fn install() -> io::Result<()> {
    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock();
    if BEFORE.get().is_some() {
        return Ok(());
    }
    // SAFETY: an action of zeros is one without flags; sigemptyset fills its mask; the handler has the type that
    // SA_SIGINFO asks for.
    unsafe {
        let mut before: libc::sigaction = core::mem::zeroed();
        if libc::sigaction(libc::SIGBUS, core::ptr::null(), &raw mut before) != 0 {
            return Err(io::Error::last_os_error());
        }
        let _ = BEFORE.set(before);
        let mut action: libc::sigaction = core::mem::zeroed();
        libc::sigemptyset(&raw mut action.sa_mask);
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        action.sa_sigaction = on_sigbus as *const () as usize;
        if libc::sigaction(libc::SIGBUS, &raw const action, null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The handler. It makes system calls alone, takes no lock and allocates nothing.
extern "C" fn on_sigbus(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel gives a valid `info`, whose address field SIGBUS sets. `CURRENT` is null or points to regions
    // that `guard` borrows on this thread. The mapping replaces a page of one that this process made for the guest, and
    // to which no Rust reference exists.
    unsafe {
        let address = (*info).si_addr() as usize;
        if let Some(regions) = CURRENT.get().as_ref() {
            let mut mapped = regions.mapped.iter();
            let hit = mapped.find_map(|mapping| mapping.page_of(address));
            if let Some((at, bytes)) = hit {
                let access = libc::PROT_READ | libc::PROT_WRITE;
                let flags =
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
                let mapped = libc::mmap(at as *mut _, bytes, access, flags, -1, 0);
                if mapped != libc::MAP_FAILED {
                    regions.is_lost.store(true, Relaxed);
                    return;
                }
            }
        }
        // Not ours: the access faults again, and meets the action before ours.
        if let Some(before) = BEFORE.get() {
            libc::sigaction(libc::SIGBUS, before, null_mut());
        }
    }
}
