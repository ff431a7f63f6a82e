//! Threads, whose numbers are not asked for: each that ends calls its destructors.

/// The system's number of this thread: none.
pub(crate) fn number() -> u32 {
    0
}

/// Whether the process has no thread of that number: not known.
pub(crate) fn is_gone(_: u32, _: u32) -> bool {
    false
}

/// Sees to it that every thread of the process sees what this one stored before, before what it stores later: not needed,
/// since nothing unloads the library.
pub(crate) fn order_all() -> bool {
    false
}
