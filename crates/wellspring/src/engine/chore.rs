//! What the harvester's thread does beside harvesting: the seed file, notices of clones.

use super::Shared;
use std::os::fd::BorrowedFd;

/// Something that is done now and then, on the harvester's thread and on no other: files and calls that wait
/// are allowed, for a short time.
pub(super) trait Chore: Send {
    /// A descriptor that has something to read when the chore should run before its time. Asked for before
    /// every sleep.
    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Does what is due at `now_ms` (by [`now_ms`](wellspring_sys::system::now_ms)), and says when it wants to
    /// be called again, by the same clock. May be called earlier.
    fn run(&mut self, engine: &Shared, now_ms: u64) -> u64;

    /// At the orderly end of the engine, after the last [`run`](Self::run).
    fn finish(&mut self, engine: &Shared) {
        let _ = engine;
    }
}
