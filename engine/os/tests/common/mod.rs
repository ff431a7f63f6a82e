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
use wellspring_os::memory::Zeroed;
use wellspring_os::thread_state::{OwnedLongRead, OwnedState};
use wellspring_os::thread_state::{State, ThreadRead, ThreadStates};

/// States that count.
pub(crate) type Counters = ThreadStates<u64, u64>;

/// The state of a depth.
pub(crate) fn value<'a>(state: &'a mut ThreadRead<'_, u64, u64>) -> &'a mut u64 {
    match state.state() {
        State::Outermost(value) | State::Nested(value) => value,
    }
}

/// Runs `work` on this thread's state, and again in a child that was forked under it. `None` where the thread has none.
pub(crate) fn with_state<O: Zeroed, I: Zeroed, R>(
    states: &ThreadStates<O, I>,
    mut work: impl FnMut(&mut ThreadRead<'_, O, I>) -> R,
) -> Option<R> {
    loop {
        let mut read = states.begin().or_else(|| states.begin_first(0))?;
        let result = work(&mut read);
        if read.end() {
            return Some(result);
        }
    }
}

/// The same with an owned state, in the memory of a node.
pub(crate) fn with_owned<T: Zeroed, R>(
    owned: &mut OwnedState<T>,
    node: u32,
    mut work: impl FnMut(&mut OwnedLongRead<'_, T>) -> R,
) -> Option<R> {
    loop {
        let mut read = match owned.begin() {
            Some(read) => read,
            None => owned.begin_first(node)?,
        };
        let result = work(&mut read);
        if read.end() {
            return Some(result);
        }
    }
}

/// Counts one further. `None` where the thread has no state.
pub(crate) fn next(states: &Counters) -> Option<u64> {
    with_state(states, |state| {
        *value(state) += 1;
        *value(state)
    })
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
