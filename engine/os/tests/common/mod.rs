//! Functions that the tests of this crate share.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test file uses its part of this"
)]

pub(crate) use testkit::process::{exit_status, in_child, mappings};
#[cfg(target_arch = "x86_64")]
pub(crate) use testkit::stepping;
pub(crate) use testkit::timer::handle;

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
