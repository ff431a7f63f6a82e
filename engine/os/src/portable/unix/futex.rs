//! Sleep until a word changes. Each of these systems has its own call for that, and Apple's is private. Here the waiting
//! thread looks again after 50 microseconds: it waits for a lock that is held for less than a microsecond.

use super::threads::keep_errno;
use core::sync::atomic::{AtomicU32, Ordering};

/// Sleeps for a short time, if the word has this value.
pub(crate) fn wait(word: &AtomicU32, value: u32, _timeout_ms: u32) {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 50_000,
    };
    if word.load(Ordering::Relaxed) == value {
        // SAFETY: the pointer is to a `timespec`.
        keep_errno(|| unsafe { libc::nanosleep(&raw const time, core::ptr::null_mut()) });
    }
}

/// Nothing: the thread that waits looks by itself.
pub(crate) fn wake_one(_: &AtomicU32) {}
