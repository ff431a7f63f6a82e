//! getrandom(2) and getentropy(3).

use crate::report::count;
use crate::system::{self, KeptErrno, returned, set_errno};
use crate::writable::writable;
use core::ffi::{c_int, c_uint, c_void};
use core::slice;
use wellspring::Engine;
use wellspring_sys::door_counters::Door;

const GRND_NONBLOCK: c_uint = 1;
const GRND_RANDOM: c_uint = 2;
const GRND_INSECURE: c_uint = 4;

/// The most that getentropy(3) gives at once.
const MAX_ENTROPY_BYTES: usize = 256;

/// The end of what a program can map on x86-64 and aarch64 with addresses of 48 bits. Beyond, the kernel answers.
const USER_END: usize = 0x7FFF_FFFF_F000;

unsafe extern "C-unwind" {
    fn pthread_testcancel();
}

/// As getrandom(2), in the C library's form.
///
/// # Safety
///
/// As getrandom(2): `length` bytes at `destination` are the caller's to write, or the answer is EFAULT.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getrandom(
    destination: *mut c_void,
    length: usize,
    flags: c_uint,
) -> isize {
    // glibc's is a cancellation point. Nothing of ours is on the stack that a cancelled thread would have to drop.
    // SAFETY: no precondition.
    unsafe { pthread_testcancel() };
    answer(destination, length, flags)
}

/// The answer to getrandom(2), and errno.
pub(crate) fn answer(destination: *mut c_void, length: usize, flags: c_uint) -> isize {
    let is_known = matches!(flags & !GRND_NONBLOCK, 0 | GRND_RANDOM | GRND_INSECURE);
    if is_known
        && length > 0
        && let Some(count) = serve(destination, length, Door::Getrandom)
    {
        return count as isize;
    }
    returned(system::getrandom(destination, length, flags))
}

/// As getentropy(3).
///
/// # Safety
///
/// As [`getrandom`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getentropy(destination: *mut c_void, length: usize) -> c_int {
    if length > MAX_ENTROPY_BYTES {
        set_errno(libc::EIO);
        return -1;
    }
    if length == 0 || serve(destination, length, Door::Getentropy) == Some(length) {
        return 0;
    }
    let mut done = 0;
    while done < length {
        let result = system::getrandom(destination.wrapping_byte_add(done), length - done, 0);
        match result {
            1.. => done += result as usize,
            _ if result == -(libc::EINTR as isize) => {}
            _ => {
                returned(result);
                return -1;
            }
        }
    }
    0
}

/// Fills what may be written of the caller's buffer, and returns how much that is. `None`: the kernel is to answer.
fn serve(destination: *mut c_void, length: usize, door: Door) -> Option<usize> {
    let end = destination.addr().checked_add(length)?;
    if length > i32::MAX as usize || end > USER_END {
        return None;
    }
    let _errno = KeptErrno::new();
    let engine = Engine::try_process().ok()?;
    let length = writable(destination, length);
    if length == 0 {
        return None;
    }
    // SAFETY: the kernel has written to each of these pages, and the caller's memory is the caller's to give.
    let bytes = unsafe { slice::from_raw_parts_mut(destination.cast(), length) };
    engine.try_fill(bytes).ok()?;
    count(door, length);
    Some(length)
}
