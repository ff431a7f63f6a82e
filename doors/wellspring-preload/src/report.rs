//! What this program drew, for `wellspring run --report`.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use wellspring_sys::door_counters::{Door, DoorCounters};

static COUNTERS: AtomicPtr<DoorCounters> = AtomicPtr::new(ptr::null_mut());

/// Counts this program, and from now on its calls.
pub(crate) fn start(counters: DoorCounters) {
    counters.count_program();
    COUNTERS.store(Box::into_raw(Box::new(counters)), Ordering::Release);
}

/// Counts a call, if there is a report.
#[inline(always)]
pub(crate) fn count(door: Door, bytes: usize) {
    // SAFETY: null, or leaked by `start` and never changed.
    if let Some(counters) = unsafe { COUNTERS.load(Ordering::Acquire).as_ref() } {
        counters.count(door, bytes);
    }
}
