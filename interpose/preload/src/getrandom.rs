//! Functions of the C library that draw: getrandom(2), also by its number, getentropy(3), arc4random(3) and its family.
//! syscall(2) and prctl(2) also prepare the engine for a sandbox.

use crate::engine::{self, try_fill};
use crate::system::{self, KeptErrno, call, returned, set_errno};
use core::ffi::{c_int, c_long, c_uint, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::{ptr, slice};
use wellspring_interpose::door_counters::{Door, count, count_failure};
use wellspring_os::sandbox;

const GRND_NONBLOCK: c_uint = 1;
const GRND_RANDOM: c_uint = 2;
/// Linux 5.6: never waits, and looks at the buffer even before the kernel's generator is seeded.
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
/// the section on writable parts names.
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

// ---- arc4random ----
// arc4random(3) and its family. They return no errors: without any source of bytes the process ends.

/// Like arc4random(3).
#[unsafe(no_mangle)]
pub extern "C" fn arc4random() -> u32 {
    u32::from_ne_bytes(array())
}

/// Like arc4random_buf(3).
///
/// # Safety
///
/// The caller may write `length` bytes at `destination`. A bad pointer ends the process, as in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arc4random_buf(destination: *mut c_void, length: usize) {
    if length == 0 {
        return;
    }
    assert!(!destination.is_null() && isize::try_from(length).is_ok());
    // SAFETY: the caller's promise, and the check above.
    fill_all(unsafe { slice::from_raw_parts_mut(destination.cast(), length) });
}

/// Like arc4random_uniform(3): unbiased, by the method of Lemire.
#[unsafe(no_mangle)]
pub extern "C" fn arc4random_uniform(count: u32) -> u32 {
    if count < 2 {
        return 0;
    }
    let rejected = count.wrapping_neg() % count;
    loop {
        let product = u64::from(arc4random()) * u64::from(count);
        if product as u32 >= rejected {
            return (product >> 32) as u32;
        }
    }
}

#[inline(always)]
fn array<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill_all(&mut bytes);
    bytes
}

#[inline(always)]
fn fill_all(bytes: &mut [u8]) {
    match try_fill(bytes) {
        Ok(()) => count(Door::Arc4random, bytes.len()),
        Err(_) => fill_by_kernel(bytes),
    }
}

#[cold]
fn fill_by_kernel(bytes: &mut [u8]) {
    count_failure(Door::Arc4random);
    let mut done = 0;
    while done < bytes.len() {
        let rest = &mut bytes[done..];
        let result = system::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0);
        match result {
            1.. => done += result as usize,
            _ if result == -(libc::EINTR as isize) => {}
            _ => panic!(
                "wellspring: no generator, and getrandom(2) fails: error {}",
                -result
            ),
        }
    }
}

// ---- sandboxes ----
// prctl(2) and syscall(2), by which a program enters a seccomp sandbox: these functions prepare the engine for it.
// They also serve getrandom(2) for programs that call it by its number, as OpenSSL does if it was built without
// getentropy.
//
// A sandbox may end the process at any system call but getrandom(2). An engine makes a few system calls: it blocks signals,
// maps memory, looks for files. So before a program installs a filter, this thread gets its tap, and the engine stops making
// system calls. If the kernel has installed no filter, the engine goes on as before: programs make calls that must fail to ask
// which filters the kernel knows. A filter of a child of vfork(2), whose memory is its parent's, does not count either. Before
// glibc 2.35 and Linux 5.5 such a child of a process that has not drawn looks like a separate process, as a child of raw
// clone(2) does: then its parent too makes no system call for the rest of its life.
//
// This library does not see a filter that the program installs by its own system call instruction, or that it has
// inherited over exec; then a system call of the engine may end the process. A question to the kernel would not help:
// it is a system call too. Every container has a filter, and nearly all of these allow what the engine needs.

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
    if !sandbox::is_prepared() && (engine::is_child() || !sandbox::owns_memory()) {
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

// ---- the writable part of a buffer ----
// Finds out which part of a caller's buffer may be written.
//
// The kernel answers a bad pointer with EFAULT. A store would end the process instead. So before the first store to a
// page this module asks the kernel to write one byte there, by getrandom(2): a program that draws random bytes needs
// that system call anyway, so its sandbox allows it. The module remembers up to 1024 pages that passed, because a
// system call for each buffer would take as long as the bytes themselves.
//
// So a pointer to a page that passed, and that the program unmapped since, ends the process by SIGSEGV. The C library
// does the same since glibc 2.41, whose getrandom writes without the kernel.

/// The smallest page size. A larger page is checked in several parts.
const PAGE_BYTES: usize = 4096;

const SEATS: usize = 1024;

/// The numbers of pages that passed, in a hash table: each page has one place, where a later page may replace it. 0 is
/// an empty place, because calls with an address in page 0 go to the kernel.
static PASSED: [AtomicUsize; SEATS] = [const { AtomicUsize::new(0) }; SEATS];

/// Returns whether a buffer lies in one page, and this page passed before. `false` for an empty buffer.
#[inline(always)]
fn passed_before(start: *mut c_void, length: usize) -> bool {
    let (page, offset) = (start.addr() / PAGE_BYTES, start.addr() % PAGE_BYTES);
    // For length 0 the subtraction wraps to the largest number.
    let is_inside = length.wrapping_sub(1) < PAGE_BYTES - offset;
    is_inside && page != 0 && seat(page).load(Ordering::Relaxed) == page
}

/// The place of a page in the table, by Knuth's multiplicative hash: it spreads the stacks of threads, whose distances
/// are powers of two.
#[inline(always)]
fn seat(page: usize) -> &'static AtomicUsize {
    let hash = page.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - SEATS.ilog2());
    &PASSED[hash % SEATS]
}

/// Returns how many of the `length` bytes from `start` on may be written. Returns 0 if `length` is 0, and if the kernel
/// refuses to answer.
pub(crate) fn writable(start: *mut c_void, length: usize) -> usize {
    if length == 0 {
        return 0;
    }
    let first = start.addr();
    let Some(last) = first.checked_add(length - 1) else {
        return 0;
    };
    let mut at = first;
    loop {
        let page = at / PAGE_BYTES;
        if page == 0 {
            return 0;
        }
        let seat = seat(page);
        if seat.load(Ordering::Relaxed) != page {
            if !passes(at) {
                return at - first;
            }
            seat.store(page, Ordering::Relaxed);
        }
        if page == last / PAGE_BYTES {
            return length;
        }
        at = (page + 1) * PAGE_BYTES;
    }
}

/// Returns whether the kernel can write a byte at this address. It does write one; the caller overwrites it.
#[cold]
fn passes(address: usize) -> bool {
    let start = ptr::with_exposed_provenance_mut(address);
    let mut result = system::getrandom(start, 1, GRND_INSECURE);
    if result == -(libc::EINVAL as isize) {
        result = system::getrandom(start, 1, libc::GRND_NONBLOCK);
    }
    result == 1
}
