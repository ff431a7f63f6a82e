//! Windows interrupts no thread for a handler: there is nothing to block.

/// The signals that a thread blocks: none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask;

/// Blocks all signals of this thread.
pub(crate) fn block_all() -> Mask {
    Mask
}

/// Sets the mask of this thread.
pub(crate) fn restore(_: Mask) {}

/// Whether no signal is blocked.
pub(crate) fn is_empty(_: Mask) -> bool {
    true
}

/// Blocks all signals of this thread until it ends.
pub fn block_for_good() {}
