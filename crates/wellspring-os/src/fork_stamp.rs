//! A number of this process: a fork of any kind changes it.

use crate::memory::Pages;
use crate::system_calls;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The number where there is none yet. A fork wipes the number to this as well.
pub(crate) const NONE: u64 = 0;

/// The place of the number until a page is mapped.
static NO_PAGE: AtomicU64 = AtomicU64::new(NONE);

/// The number, on a page that a fork wipes.
static STAMP: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const NO_PAGE).cast_mut());

fn place() -> &'static AtomicU64 {
    // SAFETY: `NO_PAGE`, or a word of a page that is never unmapped; only shared references to either are made.
    unsafe { &*STAMP.load(Ordering::Acquire) }
}

/// The number; [`NONE`] if this process has none yet.
#[inline(always)]
pub(crate) fn current() -> u64 {
    // SAFETY: as in `place`, which is not inlined into other crates.
    unsafe { (*STAMP.load(Ordering::Acquire)).load(Ordering::Relaxed) }
}

/// The number, made if there is none yet. [`NONE`] if the system has no memory that a fork wipes.
pub(crate) fn get_or_make() -> u64 {
    /// In ordinary memory: a child goes on from where its parent was.
    static NEXT: AtomicU64 = AtomicU64::new(NONE + 1);

    if core::ptr::eq(place(), &raw const NO_PAGE) {
        if system_calls::are_forbidden() {
            return NONE;
        }
        let Ok(page) = Pages::map(4096) else {
            return NONE;
        };
        let (old, new) = ((&raw const NO_PAGE).cast_mut(), page.start().cast());
        let relaxed = Ordering::Relaxed;
        if STAMP
            .compare_exchange(old, new.as_ptr(), Ordering::AcqRel, relaxed)
            .is_ok()
        {
            page.leak();
        }
    }
    let (place, new) = (place(), NEXT.fetch_add(1, Ordering::Relaxed));
    match place.compare_exchange(NONE, new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => new,
        Err(present) => present,
    }
}
