//! Threads. Their numbers are not needed: each thread calls its destructors when it ends.

/// The system's number of this thread: none.
pub(crate) fn number() -> u32 {
    0
}

/// Whether the process has no thread of that number: not known.
pub(crate) fn is_gone(_: u32, _: u32) -> bool {
    false
}

/// Makes every thread of the process see what this thread stored before the call, before what it stores later: not
/// needed, since nothing unloads the library.
pub(crate) fn order_all() -> bool {
    false
}
