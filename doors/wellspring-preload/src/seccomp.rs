//! prctl(2) and syscall(2), by which a program enters a seccomp sandbox: these functions prepare the engine for it.
//! They also serve getrandom(2) for programs that call it by its number, as OpenSSL does if it was built without
//! getentropy.
//!
//! A sandbox may end the process at any system call but getrandom(2). An engine makes a few system calls: it blocks
//! signals, maps memory, looks for files. So before a program installs a filter, this thread gets its tap, and the
//! engine stops making system calls. This library does not see a filter that the program installs by its own system
//! call instruction; then a system call of the engine may end the process.

use crate::getrandom::answer;
use crate::system::{KeptErrno, call, returned};
use core::ffi::{c_int, c_long};
use wellspring::Engine;
use wellspring_os::sandbox;

/// Like prctl(2). The number of arguments is fixed here: see `files.rs`.
///
/// # Safety
///
/// The contract of prctl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        prepare();
    }
    returned(call(libc::SYS_prctl, [option as usize, a, b, c, d, 0])) as c_int
}

/// Like syscall(2).
///
/// # Safety
///
/// The contract of the system call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_getrandom {
        let destination = core::ptr::with_exposed_provenance_mut(a);
        return answer(destination, b, c as u32) as c_long;
    }
    let is_prctl = number == libc::SYS_prctl && a == libc::PR_SET_SECCOMP as usize;
    if number == libc::SYS_seccomp || is_prctl {
        prepare();
    }
    returned(call(number, [a, b, c, d, e, f])) as c_long
}

fn prepare() {
    let _errno = KeptErrno::new();
    if let Ok(engine) = Engine::try_process() {
        let mut byte = [0];
        // Without a seed this fails, and later calls go to the kernel.
        let _ = engine.try_fill(&mut byte);
    }
    sandbox::prepare();
}
