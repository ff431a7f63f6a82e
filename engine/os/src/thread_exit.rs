//! Releases a thread's slots when it ends, and all slots when the library is unloaded.
//!
//! A thread-specific key of the C library does that: its destructor runs after the destructors of `thread_local!` values,
//! which may still draw. After that the thread gets no slot, because nothing would release it: later reads, in other
//! destructors and in signal handlers, run without a slot. `slots` releases the slots of threads that end without this
//! destructor.

use crate::signals::SignalsBlocked;
use crate::slots::Slot;
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
