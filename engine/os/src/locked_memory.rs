//! How much secret memory may be swapped out.

use crate::{memory, slots};

/// How many bytes of secret memory in use may reach a swap device, because they are beyond an eighth of `RLIMIT_MEMLOCK`,
/// usually 1 MiB of 8 MiB, or because the system refused to lock them.
#[must_use]
pub fn unlocked_bytes() -> usize {
    memory::unlocked_bytes() + slots::unlocked_bytes()
}
