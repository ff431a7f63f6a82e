//! A library that a program loads with dlopen(3) and unloads with dlclose(3): what `tests/unload.rs` does.

use std::sync::OnceLock;
use wellspring_os::thread_state::{State, ThreadStates};

static STATES: OnceLock<ThreadStates<u64, u64>> = OnceLock::new();

/// How often the calling thread has called this.
#[unsafe(no_mangle)]
pub extern "C" fn count_calls() -> u64 {
    let states = STATES.get_or_init(ThreadStates::new);
    let Some(mut read) = states.begin().or_else(|| states.begin_first(0)) else {
        return 0;
    };
    match read.state() {
        State::Outermost(value) | State::Nested(value) => {
            *value += 1;
            *value
        }
    }
}
