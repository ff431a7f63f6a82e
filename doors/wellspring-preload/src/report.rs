//! Counters of this program's calls, for `wellspring run --report`.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use wellspring_os::door_counters::{Door, DoorCounters};

static COUNTERS: AtomicPtr<DoorCounters> = AtomicPtr::new(ptr::null_mut());

/// Counts this program, and its calls from now on.
pub(crate) fn start(counters: DoorCounters) {
    counters.count_program();
    COUNTERS.store(Box::into_raw(Box::new(counters)), Ordering::Release);
}

/// Counts a call that returned this many bytes, if a report was asked for.
#[inline(always)]
pub(crate) fn count(door: Door, bytes: usize) {
    // SAFETY: null, or leaked by `start` and never changed.
    if let Some(counters) = unsafe { COUNTERS.load(Ordering::Acquire).as_ref() } {
        counters.count(door, bytes);
    }
}
