//! A library for LD_PRELOAD, by which existing programs draw their random bytes from wellspring.
//!
//! ```text
//! getrandom    getrandom, getentropy; arc4random and its family; prctl and syscall, which prepare for a sandbox
//! files        open and its family: /dev/random and /dev/urandom, where the service has files
//! rand_bytes   RAND_bytes and RAND_priv_bytes of OpenSSL, on request
//! clone_guard  gives rand(3) and its kin, on request, and Node's OpenSSL new state when the machine was cloned
//!
//! engine       the engine of the process, and errno around its reads; a child that uses its parent's memory
//! system       system calls, and errno; the original functions that ours replace; an allocator that does not use malloc
//! ```
//!
//! # Rules for every line
//!
//! A program may call these functions before any constructor has run, in a signal handler, in a child after fork, and
//! with malloc's lock held. So nothing here calls malloc, getenv or stdio: `system` has the allocator of this library,
//! and `start` below reads the environment that the loader passes to it. A call that we cannot serve goes to the kernel,
//! whose result the program gets: an unknown flag, a bad pointer, an engine without memory or seed. No thread is started.

mod clone_guard;
mod engine;
mod files;
mod getrandom;
mod rand_bytes;
mod system;

pub use clone_guard::*;
pub use files::*;
pub use getrandom::{
    arc4random, arc4random_buf, arc4random_uniform, getentropy, getrandom, prctl, syscall,
};
pub use rand_bytes::{RAND_bytes, RAND_priv_bytes};

use core::ffi::{CStr, c_char, c_int};
use wellspring_interpose::door_counters::{self, RAND_BYTES_VARIABLE, VARIABLE};
use wellspring_interpose::repeat;

/// The constructor that the loader calls before main: it looks up the original functions and reads the environment. glibc's
/// loader passes it the arguments of main.
///
/// Earlier calls, from constructors of other libraries, are served as well. They are not counted, and `open` then makes
/// the system call itself.
extern "C" fn start(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    files::find_next();
    clone_guard::find_next();
    engine::find_next();
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
        rand_bytes::replace();
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
