//! Releases a thread's slots when it ends, and all slots when the library is unloaded.
//!
//! A thread-specific key of the C library does that: its destructor runs after the destructors of `thread_local!` values,
//! which may still draw. After that the thread gets no slot, because nothing would release it: later reads, in other
//! destructors and in signal handlers, run without a slot. `slots` releases the slots of threads that end without this
//! destructor.

use crate::signals::SignalsBlocked;
use crate::slots::Slot;
#[cfg(windows)]
use crate::system::exit_key;
use crate::thread::{BUSY, STALE, ThreadData, local};
use crate::{signals, slots};
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

/// No key was made yet.
const NONE: u32 = u32::MAX;
/// The library was unloaded, or the process ends.
const GONE: u32 = u32::MAX - 1;

static KEY: AtomicU32 = AtomicU32::new(NONE);

/// Makes the key, before the program has made 32 others: with the first engine.
#[inline]
pub(crate) fn prepare() {
    if KEY.load(Ordering::Acquire) != NONE {
        return;
    }
    let Some(key) = exit_key::create(leave) else {
        return;
    };
    let first = KEY.compare_exchange(NONE, key, Ordering::AcqRel, Ordering::Acquire);
    if first.is_err() {
        exit_key::delete(key);
    }
}

/// Sees to it that this thread's slots are released when it ends.
///
/// Not where that might allocate in a signal handler, which may have interrupted malloc(3): then a later read on the same
/// thread does it, outside a handler.
pub(crate) fn arm(local: &ThreadData, depth: usize) {
    let key = KEY.load(Ordering::Acquire);
    if local.exit_is_armed.get() || key == NONE || key == GONE {
        return;
    }
    if exit_key::may_allocate(key) && (depth > 0 || signals::may_be_handler()) {
        return;
    }
    if exit_key::set(key) {
        local.exit_is_armed.set(true);
    }
}

/// The destructor of the key.
unsafe extern "C" fn leave(_: *mut c_void) {
    let local = local();
    let _signals = SignalsBlocked::new();
    // A handler after this finds the thread leaving; one before it found its slots.
    local.is_leaving.set(true);
    if local.generation.get() != BUSY {
        local.generation.set(STALE);
    }
    for entry in &local.entries {
        slots::release(entry.slot.replace(Slot::NONE));
        entry.owner.set(0);
    }
}

/// Called when the library is unloaded with dlclose(3), and when the process ends. A thread that ends later must not
/// call `leave`, which may be gone by then.
///
/// Not on macOS and Windows: macOS unloads no library with thread-local data, and on Windows the program must not. There
/// the system alone erases the memory of a process that ended.
#[cfg_attr(any(target_vendor = "apple", windows), allow(dead_code))]
extern "C" fn unload() {
    let key = KEY.swap(GONE, Ordering::AcqRel);
    if key == NONE || key == GONE {
        return;
    }
    // `arm` no longer sets it.
    exit_key::delete(key);
    let _signals = SignalsBlocked::new();
    slots::release_everything();
}

/// Runs [`unload`] when the library is unloaded, or the process ends.
#[cfg(all(unix, not(target_vendor = "apple")))]
#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".fini_array"))]
static UNLOAD: extern "C" fn() = unload;

#[cfg(unix)]
mod exit_key {
    //! A thread-specific key of the C library, whose destructor runs when a thread ends.

    use core::ffi::c_void;
    use core::ptr;
    use libc::pthread_key_t;

    /// In glibc, setting one of the first 32 keys allocates nothing; a later one may call calloc(3).
    const ALWAYS_THERE: u32 = 32;

    /// A new key. `None` if the system has none left.
    pub(super) fn create(destructor: unsafe extern "C" fn(*mut c_void)) -> Option<u32> {
        let mut key: pthread_key_t = 0;
        // SAFETY: the pointer is to the key, and the destructor may be called with any argument.
        let answer = unsafe { libc::pthread_key_create(&raw mut key, Some(destructor)) };
        // A key is a small number.
        (answer == 0).then_some(key as u32)
    }

    /// Deletes a key. Its destructor is not called any more.
    pub(super) fn delete(key: u32) {
        // SAFETY: libc checks the number.
        unsafe { libc::pthread_key_delete(key as pthread_key_t) };
    }

    /// Sees to it that the destructor is called when this thread ends. Returns whether the system agreed.
    pub(super) fn set(key: u32) -> bool {
        // SAFETY: libc checks the number. Any value but null has the destructor called.
        unsafe { libc::pthread_setspecific(key as pthread_key_t, ptr::dangling()) == 0 }
    }

    /// Whether [`set`] may allocate memory: in glibc and on the BSDs. On macOS and in musl each thread has room for all keys.
    pub(super) fn may_allocate(key: u32) -> bool {
        let is_like_bsd = cfg!(any(
            target_os = "freebsd",
            target_os = "netbsd",
            wellspring_test_portable
        ));
        is_like_bsd || cfg!(target_env = "gnu") && key >= ALWAYS_THERE
    }
}
