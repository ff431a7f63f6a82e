//! How much secret memory may be swapped out.

use crate::{memory, slots};

/// How many bytes of secret memory in use may reach a swap device, because the system refused to lock them: what is
/// beyond `RLIMIT_MEMLOCK`, usually 8 MiB.
#[must_use]
pub fn unlocked_bytes() -> usize {
    memory::unlocked_bytes() + slots::unlocked_bytes()
}
