//! Sleep until a word changes, by futex(2).

use core::sync::atomic::AtomicU32;
use rustix::thread::futex;
use rustix::time::Timespec;

/// Sleeps while the word has this value, until [`wake_one`], a signal, or the end of the time.
pub(crate) fn wait(word: &AtomicU32, value: u32, timeout_ms: u32) {
    let timeout = Timespec {
        tv_sec: i64::from(timeout_ms / 1000),
        tv_nsec: i64::from(timeout_ms % 1000 * 1_000_000),
    };
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, Some(&timeout));
}

/// Wakes a thread that sleeps at the word, if there is one.
pub(crate) fn wake_one(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}
