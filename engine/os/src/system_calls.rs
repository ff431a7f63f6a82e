//! Whether this process may still make system calls.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many callers have forbidden them.
static FORBIDDEN: AtomicU32 = AtomicU32::new(0);

/// The time that clocks show after [`forbid`], in milliseconds; 0 if they can be read without a system call.
static STOPPED_MS: AtomicU64 = AtomicU64::new(0);

/// From now on this process and its children make no system calls. `stopped_ms` is the time that clocks show from
/// now on, if no clock can be read without a system call.
pub(crate) fn forbid(stopped_ms: Option<u64>) {
    if let Some(stopped_ms) = stopped_ms {
        STOPPED_MS.store(stopped_ms.max(1), Ordering::Relaxed);
    }
    FORBIDDEN.fetch_add(1, Ordering::SeqCst);
}

/// Takes back one call of [`forbid`].
pub(crate) fn allow_again() {
    FORBIDDEN.fetch_sub(1, Ordering::SeqCst);
}

/// Whether a call of [`forbid`] was not taken back.
#[inline]
pub(crate) fn are_forbidden() -> bool {
    FORBIDDEN.load(Ordering::Relaxed) != 0
}

/// The time at which clocks stopped, if they did.
pub(crate) fn stopped_ms() -> Option<u64> {
    let stopped_ms = STOPPED_MS.load(Ordering::Relaxed);
    (stopped_ms != 0 && are_forbidden()).then_some(stopped_ms)
}
