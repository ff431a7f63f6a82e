//! Clocks.

#[cfg(target_vendor = "apple")]
const AWAKE: libc::clockid_t = libc::CLOCK_UPTIME_RAW;
#[cfg(not(target_vendor = "apple"))]
const AWAKE: libc::clockid_t = libc::CLOCK_MONOTONIC;

/// FreeBSD and NetBSD have one clock for both: there a suspend is not noticed.
#[cfg(target_os = "linux")]
const WITH_SLEEP: libc::clockid_t = libc::CLOCK_BOOTTIME;
#[cfg(not(target_os = "linux"))]
const WITH_SLEEP: libc::clockid_t = libc::CLOCK_MONOTONIC;

/// The time since boot in nanoseconds, without the time spent asleep where the system can tell.
pub(crate) fn awake_ns() -> u64 {
    time_ns(AWAKE)
}

/// The same, with the time spent asleep.
pub(crate) fn with_sleep_ns() -> u64 {
    time_ns(WITH_SLEEP)
}

/// The time that this thread has spent on a CPU, in nanoseconds.
pub(crate) fn of_thread_ns() -> u64 {
    time_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn time_ns(clock: libc::clockid_t) -> u64 {
    // SAFETY: all zeros is a `timespec`, and the pointer is to one.
    let time = unsafe {
        let mut time: libc::timespec = core::mem::zeroed();
        libc::clock_gettime(clock, &raw mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
