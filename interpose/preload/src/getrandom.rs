//! getrandom(2) and getentropy(3).

use crate::engine::try_fill;
use crate::system::{self, returned, set_errno};
use crate::writable::{passed_before, writable};
use core::ffi::{c_int, c_uint, c_void};
use core::slice;
use wellspring_interpose::door_counters::{Door, count, count_failure};

const GRND_NONBLOCK: c_uint = 1;
const GRND_RANDOM: c_uint = 2;
const GRND_INSECURE: c_uint = 4;

/// The most bytes of one call of getentropy(3).
const MAX_ENTROPY_BYTES: usize = 256;

/// The end of the addresses that a program can map on x86-64 and aarch64, where addresses have 48 bits. Calls with an
/// address beyond it go to the kernel.
const USER_END: usize = 0x7FFF_FFFF_F000;

unsafe extern "C-unwind" {
    fn pthread_testcancel();
}

/// Like getrandom(2), with the result and errno of the C library's function.
///
/// # Safety
///
/// The caller may write `length` bytes at `destination`; for a bad pointer the error is EFAULT, with the exception that
/// writable.rs names.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getrandom(
    destination: *mut c_void,
    length: usize,
    flags: c_uint,
) -> isize {
    // glibc's getrandom is a cancellation point. This function has nothing on the stack that a cancelled thread must
    // drop. SAFETY: no precondition.
    unsafe { pthread_testcancel() };
    answer(destination, length, flags)
}

/// Returns the result of getrandom(2), and sets errno if that is -1.
#[inline(always)]
pub(crate) fn answer(destination: *mut c_void, length: usize, flags: c_uint) -> isize {
    let is_known = matches!(flags & !GRND_NONBLOCK, 0 | GRND_RANDOM | GRND_INSECURE);
    if is_known && let Some(count) = serve(destination, length, Door::Getrandom) {
        return count as isize;
    }
    answer_by_kernel(destination, length, flags)
}

#[cold]
#[inline(never)]
fn answer_by_kernel(destination: *mut c_void, length: usize, flags: c_uint) -> isize {
    returned(system::getrandom(destination, length, flags))
}

/// Like getentropy(3).
///
/// # Safety
///
/// The contract of [`getrandom`].
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

/// Fills the writable beginning of the caller's buffer, and returns its length. `None`: the caller must ask the kernel.
#[inline(always)]
fn serve(destination: *mut c_void, length: usize, door: Door) -> Option<usize> {
    if passed_before(destination, length) {
        fill(destination, length, door)
    } else {
        serve_unknown(destination, length, door)
    }
}

/// Serves a buffer that is empty, lies in several pages, or in a page that is not known as writable.
#[cold]
#[inline(never)]
fn serve_unknown(destination: *mut c_void, length: usize, door: Door) -> Option<usize> {
    let end = destination.addr().checked_add(length)?;
    if length > i32::MAX as usize || end > USER_END {
        return None;
    }
    match writable(destination, length) {
        0 => None,
        length => fill(destination, length, door),
    }
}

#[inline(always)]
fn fill(destination: *mut c_void, length: usize, door: Door) -> Option<usize> {
    // SAFETY: the kernel has written to each of these pages, and the caller of the exported function gives the memory.
    let bytes = unsafe { slice::from_raw_parts_mut(destination.cast(), length) };
    if try_fill(bytes).is_err() {
        count_failure(door);
        return None;
    }
    count(door, length);
    Some(length)
}
