//! The constructor that the loader calls before main: it looks up the original functions and reads the environment.
//!
//! Earlier calls, from constructors of other libraries, are served as well. They are not counted, and `open` then makes
//! the system call itself.

use crate::{clone_guard, vfork};
use core::ffi::{CStr, c_char, c_int};
use wellspring_interpose::door_counters::{self, RAND_BYTES_VARIABLE, VARIABLE};
use wellspring_interpose::repeat;

/// The constructor. glibc's loader passes it the arguments of main.
extern "C" fn start(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    crate::files::find_next();
    clone_guard::find_next();
    vfork::find_next();
    // SAFETY: no precondition.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return;
    }
    if let Some(path) = variable(environment, repeat::VARIABLE)
        && repeat::start(path, repeat::Library::Preload).is_err()
    {
        repeat::refuse();
    }
    if variable(environment, RAND_BYTES_VARIABLE) == Some(c"1") {
        crate::rand_bytes::replace();
    }
    if let Some(words) = variable(environment, clone_guard::VARIABLE) {
        clone_guard::start(words, variable(environment, clone_guard::PAGE_VARIABLE));
    }
    if let Some(path) = variable(environment, VARIABLE)
        && let Some(counters) = door_counters::start(path)
    {
        counters.count_program();
    }
}

/// Returns the value of a variable, without getenv(3).
fn variable(environment: *const *const c_char, name: &str) -> Option<&'static CStr> {
    if environment.is_null() {
        return None;
    }
    for index in 0.. {
        // SAFETY: the loader's table ends with a null pointer, and the loop does not pass that.
        let line = unsafe { *environment.add(index) };
        if line.is_null() {
            break;
        }
        // SAFETY: a string of the environment, which lives as long as the process.
        let line: &'static CStr = unsafe { CStr::from_ptr(line) };
        let value = line.to_bytes_with_nul().strip_prefix(name.as_bytes());
        if let Some(value) = value.and_then(|value| value.strip_prefix(b"=")) {
            return CStr::from_bytes_with_nul(value).ok();
        }
    }
    None
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = start;
