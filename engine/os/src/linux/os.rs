//! getrandom(2), the clock, and the CPU this thread runs on.

use crate::os_error::{OsError, raw_call};
use crate::system_calls;
#[cfg(all(target_pointer_width = "64", not(miri)))]
use crate::vdso;
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

pub use crate::descriptor::{Descriptor, open_device, read_file};

/// Fills up to 256 bytes from getrandom(2), without waiting for the kernel's generator to be seeded.
///
/// # Errors
///
/// `EAGAIN` before the kernel's generator is seeded; `ENOSYS` or `EPERM` in a sandbox that forbids the call; `ENOSYS`
/// after [`prepare`](crate::sandbox::prepare).
pub fn os_random(destination: &mut [u8]) -> Result<usize, OsError> {
    if system_calls::are_forbidden() {
        return Err(Errno::NOSYS.into());
    }
    // Up to 256 bytes the call is atomic: never interrupted, never short.
    let length = destination.len().min(256);
    getrandom(&mut destination[..length], GetRandomFlags::NONBLOCK).map_err(OsError::from)
}

/// The time since boot in milliseconds, without the time spent asleep. Coarse (about 4 ms) and cheap: no
/// system call where the system has a vDSO; elsewhere it stands still after [`prepare`](crate::sandbox::prepare).
#[must_use]
pub fn now_ms() -> u64 {
    if let Some(stopped_ms) = system_calls::stopped_ms() {
        return stopped_ms;
    }
    clock_ns(libc::CLOCK_MONOTONIC_COARSE) / 1_000_000
}

/// The time this thread has spent on a CPU, in microseconds. A system call.
#[must_use]
pub fn thread_cpu_time_us() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) / 1000
}

/// How often a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextSwitches {
    /// To wait for something.
    pub voluntary: u64,
    /// Because another thread was to run.
    pub involuntary: u64,
}

/// How often this thread has left its CPU. A system call.
#[must_use]
pub fn context_switches() -> ContextSwitches {
    // SAFETY: all zeros is a `rusage`, and the pointer is to one.
    let usage = unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    ContextSwitches {
        voluntary: usage.ru_nvcsw as u64,
        involuntary: usage.ru_nivcsw as u64,
    }
}

/// The time since boot in nanoseconds, without the time spent asleep. No system call.
#[must_use]
#[inline]
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// The time since boot in nanoseconds, with the time spent asleep. No system call on most machines.
#[must_use]
#[inline]
pub fn now_with_sleep_ns() -> u64 {
    clock_ns(libc::CLOCK_BOOTTIME)
}

/// The time since 1970 in nanoseconds. No system call on most machines.
#[must_use]
#[inline]
pub fn wall_clock_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// The time since 1970 in milliseconds, up to a tick of the kernel (1 to 10 ms) late. It takes a quarter of the time of the
/// exact clock. No system call on most machines.
#[must_use]
#[inline]
pub fn wall_clock_ms() -> u64 {
    clock_ns(libc::CLOCK_REALTIME_COARSE) / 1_000_000
}

/// Not inlined: each program has it once.
#[inline(never)]
fn clock_ns(clock: libc::clockid_t) -> u64 {
    #[cfg(all(target_pointer_width = "64", not(miri)))]
    let time = vdso::clock::time(clock);
    #[cfg(not(all(target_pointer_width = "64", not(miri))))]
    // SAFETY: the pointer is to a `timespec`, and all zeros is a valid one.
    let time = unsafe {
        let mut time: libc::timespec = core::mem::zeroed();
        libc::clock_gettime(clock, &raw mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The CPU this thread ran on a moment ago. No system call on x86-64, one elsewhere; after
/// [`prepare`](crate::sandbox::prepare) it is 0 there.
#[must_use]
pub fn current_cpu() -> usize {
    let asks_kernel = cfg!(not(target_arch = "x86_64")) || system_calls::stopped_ms().is_some();
    if (asks_kernel && system_calls::are_forbidden()) || cfg!(miri) {
        return 0;
    }
    #[cfg(all(target_pointer_width = "64", not(miri)))]
    let cpu = vdso::clock::current_cpu();
    #[cfg(not(all(target_pointer_width = "64", not(miri))))]
    let cpu = rustix::thread::sched_getcpu();
    cpu
}

/// Whether this process may make a file of `bytes`. Beyond its limit, `RLIMIT_FSIZE`, write(2) ends the process by a
/// signal. A system call.
#[must_use]
pub fn may_write_file(bytes: u64) -> bool {
    limit(libc::RLIMIT_FSIZE as libc::c_long).is_none_or(|limit| bytes <= limit)
}

/// How many bytes this process may lock in memory, `RLIMIT_MEMLOCK`; `None` if there is no limit. A system call.
pub(crate) fn locked_memory_limit() -> Option<u64> {
    if cfg!(miri) {
        return None;
    }
    limit(libc::RLIMIT_MEMLOCK as libc::c_long)
}

fn limit(of: libc::c_long) -> Option<u64> {
    // The present limit, and the highest that the process may set.
    let mut limits = [u64::MAX; 2];
    let none = core::ptr::null::<u64>();
    // SAFETY: the kernel writes two words there. If the call fails, there is no limit.
    let _ = raw_call(|| unsafe {
        let place = limits.as_mut_ptr();
        libc::syscall(libc::SYS_prlimit64, 0, of, none, place)
    });
    (limits[0] != u64::MAX).then_some(limits[0])
}

/// Lets other threads run for about a millisecond. After [`prepare`](crate::sandbox::prepare) it returns at once.
pub fn pause() {
    if system_calls::are_forbidden() {
        return core::hint::spin_loop();
    }
    sleep_ns(1_000_000);
}

/// Sleeps for less than a second, or until a signal comes.
pub fn sleep_ns(nanoseconds: u32) {
    let time = rustix::time::Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(nanoseconds.min(999_999_999)),
    };
    // A sleep that a signal cut short is long enough.
    let _ = rustix::thread::nanosleep(&time);
}

/// The system's number of this process; 0 where a filter of system calls refuses it.
#[must_use]
pub fn process_number() -> u32 {
    if cfg!(miri) {
        return 1; // It knows no fork.
    }
    // SAFETY: getpid(2) takes nothing.
    let answer = raw_call(|| unsafe { libc::syscall(libc::SYS_getpid) });
    answer.map_or(0, |number| number as u32)
}

/// The number of CPUs where /sys does not say it.
#[must_use]
pub fn cpu_count() -> usize {
    1
}

/// Kills the process group of the process `leader`. Does nothing if it does not exist.
pub fn kill_process_group(leader: u32) {
    let _ = signal_process_group(leader, libc::SIGKILL);
}

/// Whether a process of the group of `leader` exists.
#[must_use]
pub fn process_group_exists(leader: u32) -> bool {
    signal_process_group(leader, 0).is_ok()
}

fn signal_process_group(leader: u32, signal: libc::c_int) -> Result<(), OsError> {
    let Some(group @ 1..) = i32::try_from(leader).ok() else {
        return Err(OsError::new(libc::ESRCH));
    };
    // SAFETY: kill(2) takes two numbers.
    let answer = raw_call(|| unsafe {
        let group = -libc::c_long::from(group);
        libc::syscall(libc::SYS_kill, group, libc::c_long::from(signal))
    });
    answer.map(|_| ())
}
