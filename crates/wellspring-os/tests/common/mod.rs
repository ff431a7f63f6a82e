//! Functions that the tests of this crate share.
#![allow(dead_code)]

pub(crate) mod stepping;

use std::time::{Duration, Instant};
use wellspring_os::thread_state::{State, StateRef, ThreadStates};

/// States that count.
pub(crate) type Counters = ThreadStates<u64, u64>;

/// The state of a depth.
pub(crate) fn value<'a>(state: &'a mut StateRef<'_, u64, u64>) -> &'a mut u64 {
    match state.state() {
        State::Outermost(value) | State::Nested(value) => value,
    }
}

/// Counts one further. `None` where the thread has no state.
pub(crate) fn next(states: &Counters) -> Option<u64> {
    states.try_with(
        || 0,
        |state| {
            *value(state) += 1;
            *value(state)
        },
    )
}

/// Waits until `is_so`, for up to two minutes: a thread that was joined takes a moment to be gone from the kernel.
pub(crate) fn eventually(is_so: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(120) {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// Runs `code` in a child process, which ends with what it returns.
pub(crate) fn in_child(code: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs `code`, which the tests keep simple, and ends without returning.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0);
        if pid == 0 {
            let run = std::panic::AssertUnwindSafe(code);
            libc::_exit(std::panic::catch_unwind(run).unwrap_or(101));
        }
        exit_status(pid)
    }
}

/// Waits for a child. What it ended with, or 1000 and the signal that ended it.
pub(crate) fn exit_status(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the pointer is to the status.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        1000 + libc::WTERMSIG(status)
    }
}

/// How many mappings the process has.
pub(crate) fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .count()
}

/// Installs a handler that has no other signal blocked.
pub(crate) fn handle(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: all zeros is a `sigaction`, the handler takes one argument.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(
            libc::sigaction(signal, &raw const action, core::ptr::null_mut()),
            0
        );
    }
}
