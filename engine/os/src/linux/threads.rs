//! Threads, by the numbers that the kernel gives them.

use crate::os_error::{OsError, raw_call};
use rustix::thread::{MembarrierCommand, membarrier};

/// The system's number of this thread: the process number for its first thread; 0 where a filter refuses it.
pub(crate) fn number() -> u32 {
    // SAFETY: gettid(2) takes nothing.
    let answer = raw_call(|| unsafe { libc::syscall(libc::SYS_gettid) });
    answer.map_or(0, |number| number as u32)
}

/// Whether the process has no thread of that number.
pub(crate) fn is_gone(process: u32, thread: u32) -> bool {
    // SAFETY: signal 0 is never sent; the numbers are looked up and nothing else.
    let answer = raw_call(|| unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) });
    answer == Err(OsError::new(libc::ESRCH))
}

/// Makes every thread of the process see what this thread stored before the call, before what it stores later.
/// Returns whether the system can.
pub(crate) fn order_all() -> bool {
    membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
        && membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}

/// Where libc keeps the number of the last error of this thread.
pub(crate) fn errno() -> *mut i32 {
    // SAFETY: it has no precondition.
    unsafe { libc::__errno_location() }
}
