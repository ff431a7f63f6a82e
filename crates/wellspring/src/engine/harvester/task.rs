//! The interface of tasks that the harvester's thread runs besides harvesting.

use std::os::fd::BorrowedFd;

/// Work for the harvester's thread, on an engine `E`. It may use files and calls that wait for a short time.
pub(in super::super) trait BackgroundTask<E>: Send {
    /// Descriptors that become readable when the task should run before its time. Asked for before every sleep.
    fn wakes(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// Does what is due at `now_ms` (by [`now_ms`](wellspring_os::os::now_ms)), and returns when it wants to run again,
    /// by the same clock. It may run earlier.
    fn run(&mut self, engine: &E, now_ms: u64) -> u64;
}
