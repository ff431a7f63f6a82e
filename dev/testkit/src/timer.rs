//! A timer that interrupts the thread that made it, as often as asked.

use core::ffi::c_int;
use core::ptr;

/// Signals this thread at a fixed interval, in nanoseconds, until it is dropped.
pub struct Timer(libc::timer_t);

impl Timer {
    /// The handler of `signal` has been installed.
    pub fn start(signal: c_int, first_ns: i64, every_ns: i64) -> Self {
        // SAFETY: all zeros is a valid sigevent; the pointers are to values that live through the calls.
        unsafe {
            let mut event: libc::sigevent = core::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = ptr::null_mut();
            let made = libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer);
            assert_eq!(made, 0);
            // A second or more is not a number of nanoseconds here.
            let nanoseconds = |time_ns| libc::timespec {
                tv_sec: time_ns / 1_000_000_000,
                tv_nsec: time_ns % 1_000_000_000,
            };
            let times = libc::itimerspec {
                it_interval: nanoseconds(every_ns),
                it_value: nanoseconds(first_ns),
            };
            assert_eq!(libc::timer_settime(timer, 0, &times, ptr::null_mut()), 0);
            Self(timer)
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// Has `handler` run on `signal`, which waits while its own handler runs. So each signal costs the stack one
/// frame at most, even where the delivery of a signal takes longer than a timer's period.
pub fn handle(signal: c_int, handler: extern "C" fn(c_int)) {
    install(signal, handler, libc::SA_RESTART);
}

/// Runs `handler` on `signal`, also while it runs already: for signals that are raised a limited number of times.
pub fn handle_nested(signal: c_int, handler: extern "C" fn(c_int)) {
    install(signal, handler, libc::SA_NODEFER | libc::SA_RESTART);
}

fn install(signal: c_int, handler: extern "C" fn(c_int), flags: c_int) {
    // SAFETY: all zeros is an empty sigaction, and the handler has the type it asks for.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &action, ptr::null_mut()), 0);
    }
}
