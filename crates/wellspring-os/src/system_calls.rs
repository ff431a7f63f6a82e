//! Whether this process may still make system calls. Never reset: a seccomp filter is never removed either.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// The time that clocks show after [`forbid`], in milliseconds; 0 if they can be read without a system call.
static STOPPED_MS: AtomicU64 = AtomicU64::new(0);

/// From now on this process and its children make none. `stopped_ms` is the time that clocks show from now on, if no
/// clock can be read without a system call.
pub(crate) fn forbid(stopped_ms: Option<u64>) {
    if let Some(stopped_ms) = stopped_ms {
        STOPPED_MS.store(stopped_ms.max(1), Ordering::Relaxed);
    }
    FORBIDDEN.store(true, Ordering::SeqCst);
}

/// Whether [`forbid`] was called.
#[inline]
pub(crate) fn are_forbidden() -> bool {
    FORBIDDEN.load(Ordering::Relaxed)
}

/// The time at which clocks stand still, if they do.
pub(crate) fn stopped_ms() -> Option<u64> {
    let stopped_ms = STOPPED_MS.load(Ordering::Relaxed);
    (stopped_ms != 0 && are_forbidden()).then_some(stopped_ms)
}
