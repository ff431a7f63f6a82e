//! Counts for `wellspring run --report`.

use core::ffi::{CStr, c_char};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::ffi::CString;
use wellspring_sys::door_counters::{Door, DoorCounters, VARIABLE};

unsafe extern "C" {
    /// As getenv(3), but gives nothing to a program that has more rights than its caller.
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

static COUNTERS: AtomicPtr<DoorCounters> = AtomicPtr::new(ptr::null_mut());

/// Counts from now on, where a report is wanted.
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

/// Counts a call, if there is a report.
#[inline(always)]
pub(crate) fn count(door: Door, bytes: usize) {
    // SAFETY: null, or leaked by `start` and never changed.
    if let Some(counters) = unsafe { COUNTERS.load(Ordering::Acquire).as_ref() } {
        counters.count(door, bytes);
    }
}
