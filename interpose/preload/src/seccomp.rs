//! prctl(2) and syscall(2), by which a program enters a seccomp sandbox: these functions prepare the engine for it.
//! They also serve getrandom(2) for programs that call it by its number, as OpenSSL does if it was built without
//! getentropy.
//!
//! A sandbox may end the process at any system call but getrandom(2). An engine makes a few system calls: it blocks signals,
//! maps memory, looks for files. So before a program installs a filter, this thread gets its tap, and the engine stops making
//! system calls. If the kernel has installed no filter, the engine goes on as before: programs make calls that must fail to ask
//! which filters the kernel knows. A filter of a child of vfork(2), whose memory is its parent's, does not count either. Before
//! glibc 2.35 and Linux 5.5 such a child of a process that has not drawn looks like a separate process, as a child of raw
//! clone(2) does: then its parent too makes no system call for the rest of its life.
//!
//! This library does not see a filter that the program installs by its own system call instruction, or that it has
//! inherited over exec; then a system call of the engine may end the process. A question to the kernel would not help:
//! it is a system call too. Every container has a filter, and nearly all of these allow what the engine needs.

use crate::getrandom::answer;
use crate::system::{KeptErrno, call, returned};
use crate::vfork;
use core::ffi::{c_int, c_long};
use wellspring_os::sandbox;

/// Like prctl(2). The number of arguments is fixed here: see `files.rs`.
///
/// # Safety
///
/// The contract of prctl(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    returned(enter(libc::SYS_prctl, [option as usize, a, b, c, d, 0])) as c_int
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
    returned(enter(number, [a, b, c, d, e, f])) as c_long
}

/// Makes a system call, which may install a filter. Returns its result.
fn enter(number: c_long, arguments: [usize; 6]) -> isize {
    let Some(request) = Request::of(number, arguments) else {
        return call(number, arguments);
    };
    if !sandbox::is_prepared() && (vfork::is_child() || !sandbox::owns_memory()) {
        return call(number, arguments);
    }
    prepare();
    let result = call(number, arguments);
    if !request.was_granted(result) {
        sandbox::undo();
    }
    result
}

/// A call that asks for a filter.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    /// Whether the result is the number of a descriptor.
    returns_descriptor: bool,
}

impl Request {
    /// `None` for all other calls, and for a filter at address 0, by which programs ask whether the kernel has filters.
    fn of(number: c_long, [a, b, c, ..]: [usize; 6]) -> Option<Self> {
        // The kernel takes 32 bits of the first two arguments.
        let (a, b32) = (a as u32, b as u32);
        let (is_strict, filter, flags) = match number {
            libc::SYS_prctl if a == libc::PR_SET_SECCOMP as u32 => match b32 {
                libc::SECCOMP_MODE_STRICT => (true, 0, 0),
                libc::SECCOMP_MODE_FILTER => (false, c, 0),
                _ => return None,
            },
            libc::SYS_seccomp => match a {
                libc::SECCOMP_SET_MODE_STRICT => (true, 0, 0),
                libc::SECCOMP_SET_MODE_FILTER => (false, c, b32),
                _ => return None,
            },
            _ => return None,
        };
        let returns_descriptor = u64::from(flags) & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0;
        (is_strict || filter != 0).then_some(Self { returns_descriptor })
    }

    /// Whether the kernel has installed the filter. The number of another thread, above 0, says that this thread's
    /// filters do not fit, and that nothing was installed.
    fn was_granted(&self, result: isize) -> bool {
        result == 0 || (result > 0 && self.returns_descriptor)
    }
}

fn prepare() {
    let _errno = KeptErrno::new();
    // Without memory or a seed this fails, and later calls go to the kernel.
    let _ = crate::engine::try_fill(&mut [0]);
    sandbox::prepare();
}
