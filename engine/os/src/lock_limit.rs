//! The part of `RLIMIT_MEMLOCK` that this crate takes: an eighth at most. The rest is the program's.

use crate::system::os;
use core::sync::atomic::{AtomicUsize, Ordering};

const PARTS: u64 = 8;

/// The bytes of wiped memory that are not slots, locked or not: a child has as many as its parent.
static WIPED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The bytes of locked slots. A child inherits no locks and counts anew when it locks its first slot.
static SLOT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Counts wiped memory.
pub(crate) fn add_wiped(bytes: usize) {
    WIPED_BYTES.fetch_add(bytes, Ordering::Relaxed);
}

/// Counts wiped memory that is gone.
pub(crate) fn remove_wiped(bytes: usize) {
    WIPED_BYTES.fetch_sub(bytes, Ordering::Relaxed);
}

/// Whether wiped memory may be locked. All of it is counted.
pub(crate) fn allows_wiped() -> bool {
    allows(SLOT_BYTES.load(Ordering::Relaxed))
}

/// Whether this number of bytes of slots may be locked, and counts them if so.
pub(crate) fn allows_slots(bytes: usize) -> bool {
    let is_allowed = allows(bytes);
    if is_allowed {
        SLOT_BYTES.store(bytes, Ordering::Relaxed);
    }
    is_allowed
}

fn allows(slot_bytes: usize) -> bool {
    let all = WIPED_BYTES.load(Ordering::Relaxed) + slot_bytes;
    os::locked_memory_limit().is_none_or(|limit| all as u64 <= limit / PARTS)
}
