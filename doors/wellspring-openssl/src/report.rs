//! Counts for `wellspring run --report`.

use core::ffi::{CStr, c_char};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::ffi::CString;
use wellspring_os::door_counters::{Door, DoorCounters, VARIABLE};

unsafe extern "C" {
    /// Like getenv(3), but returns null in a program that has more rights than its caller.
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

static COUNTERS: AtomicPtr<DoorCounters> = AtomicPtr::new(ptr::null_mut());

/// Opens the counters, if a report was asked for: calls are counted from now on.
pub(crate) fn start() {
    if !COUNTERS.load(Ordering::Acquire).is_null() {
        return;
    }
    let Ok(name) = CString::new(VARIABLE) else {
        return;
    };
    // SAFETY: a name.
    let path = unsafe { secure_getenv(name.as_ptr()) };
    if path.is_null() {
        return;
    }
    // SAFETY: a string of the environment.
    let path = unsafe { CStr::from_ptr(path) };
    if let Ok(counters) = DoorCounters::open(path) {
        COUNTERS.store(Box::into_raw(Box::new(counters)), Ordering::Release);
    }
}

/// Counts a call that returned this many bytes, if a report was asked for.
#[inline(always)]
pub(crate) fn count(door: Door, bytes: usize) {
    // SAFETY: null, or leaked by `start` and never changed.
    if let Some(counters) = unsafe { COUNTERS.load(Ordering::Acquire).as_ref() } {
        counters.count(door, bytes);
    }
}
