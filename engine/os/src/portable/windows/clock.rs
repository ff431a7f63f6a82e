//! Clocks, in ticks of up to 16 ms.

use core::ffi::c_void;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn QueryUnbiasedInterruptTime(time: *mut u64) -> i32;
    fn GetTickCount64() -> u64;
    fn GetCurrentThread() -> *mut c_void;
    fn GetThreadTimes(
        thread: *mut c_void,
        created: *mut u64,
        ended: *mut u64,
        in_kernel: *mut u64,
        in_program: *mut u64,
    ) -> i32;
}

/// The unit of Windows's times, in nanoseconds.
const UNIT_NS: u64 = 100;

/// The time since boot in nanoseconds, without the time spent asleep.
pub(crate) fn awake_ns() -> u64 {
    let mut time = 0;
    // SAFETY: the pointer is to the time.
    unsafe { QueryUnbiasedInterruptTime(&raw mut time) };
    time * UNIT_NS
}

/// The same, with the time spent asleep.
pub(crate) fn with_sleep_ns() -> u64 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { GetTickCount64() * 1_000_000 }
}

/// The time that this thread has spent on a CPU, in nanoseconds.
pub(crate) fn of_thread_ns() -> u64 {
    let [mut created, mut ended, mut in_kernel, mut in_program] = [0; 4];
    // SAFETY: the pointers are to the four times. A time is two words of 32 bits, the lower one first.
    unsafe {
        GetThreadTimes(
            GetCurrentThread(),
            &raw mut created,
            &raw mut ended,
            &raw mut in_kernel,
            &raw mut in_program,
        );
    }
    (in_kernel + in_program) * UNIT_NS
}
