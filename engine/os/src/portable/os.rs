//! The system's generator, clocks, and the number of this process.

use super::native::{clock, random};
use crate::os_error::OsError;
use crate::system_calls;
use std::time::{Duration, SystemTime};

#[cfg(unix)]
pub(crate) use super::native::limits::locked_memory_limit;
#[cfg(unix)]
pub use super::native::limits::may_write_file;
#[cfg(unix)]
pub use super::native::process_groups::{kill_process_group, process_group_exists};
pub use crate::descriptor::{Descriptor, open_device, read_file};

/// Fills up to 256 bytes from the system's generator.
///
/// # Errors
///
/// The system's error; [`OsError::UNSUPPORTED`] after [`prepare`](crate::sandbox::prepare).
pub fn os_random(destination: &mut [u8]) -> Result<usize, OsError> {
    if system_calls::are_forbidden() {
        return Err(OsError::UNSUPPORTED);
    }
    let length = destination.len().min(256);
    random::fill(&mut destination[..length])?;
    Ok(length)
}

/// The time since boot in milliseconds, without the time spent asleep where the system can tell. It stands still after
/// [`prepare`](crate::sandbox::prepare).
#[must_use]
pub fn now_ms() -> u64 {
    system_calls::stopped_ms().unwrap_or_else(|| now_ns() / 1_000_000)
}

/// The time this thread has spent on a CPU, in microseconds.
#[must_use]
pub fn thread_cpu_time_us() -> u64 {
    clock::of_thread_ns() / 1000
}

/// How often a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextSwitches {
    /// To wait for something.
    pub voluntary: u64,
    /// Because another thread was to run.
    pub involuntary: u64,
}

/// How often this thread has left its CPU: not counted here, always 0.
#[must_use]
pub fn context_switches() -> ContextSwitches {
    ContextSwitches {
        voluntary: 0,
        involuntary: 0,
    }
}

/// The time since boot in nanoseconds, without the time spent asleep where the system can tell.
#[must_use]
pub fn now_ns() -> u64 {
    clock::awake_ns()
}

/// The time since boot in nanoseconds, with the time spent asleep where the system can tell.
#[must_use]
pub fn now_with_sleep_ns() -> u64 {
    clock::with_sleep_ns()
}

/// The time since 1970 in nanoseconds.
#[must_use]
pub fn wall_clock_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// The time since 1970 in milliseconds.
#[must_use]
pub fn wall_clock_ms() -> u64 {
    wall_clock_ns() / 1_000_000
}

/// The CPU this thread runs on: always 0, as a machine has one node on these systems.
#[must_use]
pub fn current_cpu() -> usize {
    0
}

/// The number of CPUs.
#[must_use]
pub fn cpu_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Lets other threads run for about a millisecond. After [`prepare`](crate::sandbox::prepare) it returns at once.
pub fn pause() {
    if system_calls::are_forbidden() {
        return core::hint::spin_loop();
    }
    sleep_ns(1_000_000);
}

/// Sleeps for less than a second.
pub fn sleep_ns(nanoseconds: u32) {
    std::thread::sleep(Duration::from_nanos(nanoseconds.min(999_999_999).into()));
}

/// The system's number of this process.
#[must_use]
pub fn process_number() -> u32 {
    std::process::id()
}

/// `None`: Windows locks what it can.
#[cfg(windows)]
pub(crate) fn locked_memory_limit() -> Option<u64> {
    None
}
