//! Releases a thread's slots when it ends, and all slots when the library is unloaded.
//!
//! By a thread-specific key of the C library: its destructor runs after those of `thread_local!` values, which may
//! still draw. After that the thread gets no slot, because nothing would release it: later reads, in other destructors
//! and in signal handlers, run without a slot. `slots::sweep` releases the slots of threads that end without this destructor.

use crate::signals::{self, SignalsBlocked};
use crate::slots::{self, Slot};
use crate::thread::{BUSY, STALE, ThreadData, local};
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

/// No key was made yet.
const NONE: u32 = u32::MAX;
/// The library was unloaded, or the process ends.
const GONE: u32 = u32::MAX - 1;

static KEY: AtomicU32 = AtomicU32::new(NONE);

/// In glibc, setting one of the first 32 keys allocates nothing; a later one may call calloc(3).
const ALWAYS_THERE: u32 = 32;

/// Makes the key, before the program has made 32 others: with the first engine.
#[inline]
pub(crate) fn prepare() {
    if KEY.load(Ordering::Acquire) != NONE {
        return;
    }
    let mut key = 0;
    // SAFETY: the pointer is to the key, and `leave` may be called with any argument.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(leave)) } != 0 {
        return;
    }
    let first = KEY.compare_exchange(NONE, key, Ordering::AcqRel, Ordering::Acquire);
    if first.is_err() {
        // SAFETY: the key is ours, and unused.
        unsafe { libc::pthread_key_delete(key) };
    }
}

/// Sees to it that this thread's slots are released when it ends.
///
/// Not where that might allocate in a signal handler, which may have interrupted malloc(3): then a later read on the
/// same thread does it, outside of a handler.
pub(crate) fn arm(local: &ThreadData, depth: usize) {
    let key = KEY.load(Ordering::Acquire);
    if local.exit_is_armed.get() || key == NONE || key == GONE {
        return;
    }
    let may_allocate = cfg!(target_env = "gnu") && key >= ALWAYS_THERE;
    if may_allocate && (depth > 0 || signals::may_be_handler()) {
        return;
    }
    // SAFETY: the key exists. Any value but null has the destructor called.
    if unsafe { libc::pthread_setspecific(key, ptr::dangling()) } == 0 {
        local.exit_is_armed.set(true);
    }
}

/// The destructor of the key.
unsafe extern "C" fn leave(_: *mut libc::c_void) {
    let local = local();
    let _signals = SignalsBlocked::new();
    // A handler after this finds the thread leaving; one before it found its slots.
    local.is_leaving.set(true);
    if local.epoch.get() != BUSY {
        local.epoch.set(STALE);
    }
    for entry in &local.entries {
        slots::release(entry.slot.replace(Slot::NONE));
        entry.owner.set(0);
    }
}

/// Called when the library is unloaded with dlclose(3), and when the process ends. A thread that ends later must not
/// call `leave`, which may be gone by then.
extern "C" fn unload() {
    let key = KEY.swap(GONE, Ordering::AcqRel);
    if key == NONE || key == GONE {
        return;
    }
    // SAFETY: the key is ours, and `arm` sets it no more.
    unsafe { libc::pthread_key_delete(key) };
    let _signals = SignalsBlocked::new();
    slots::release_everything();
}

#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".fini_array"))]
static UNLOAD: extern "C" fn() = unload;
