//! How much secret memory may be swapped out, and how much of the limit of locked memory is the program's own.

use crate::system::os;
use crate::{memory, slots};

/// The part of `RLIMIT_MEMLOCK` that this crate takes: one of so many. The rest is the program's.
const PARTS: u64 = 8;

/// Whether `bytes` more may be locked.
///
/// What is locked is computed anew: a child has none of its parent's locks, and makes them again.
pub(crate) fn may_lock(bytes: usize) -> bool {
    let all = memory::wiped_bytes() + slots::locked_bytes() + bytes;
    os::locked_memory_limit().is_none_or(|limit| all as u64 <= limit / PARTS)
}

/// How many bytes of secret memory in use may reach a swap device, because they are beyond an eighth of `RLIMIT_MEMLOCK`,
/// usually 1 MiB of 8 MiB, or because the system refused to lock them.
#[must_use]
pub fn unlocked_bytes() -> usize {
    memory::unlocked_bytes() + slots::unlocked_bytes()
}
