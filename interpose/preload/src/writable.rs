//! Finds out which part of a caller's buffer may be written.
//!
//! The kernel answers a bad pointer with EFAULT. A store would end the process instead. So before the first store to a
//! page this module asks the kernel to write one byte there, by getrandom(2): a program that draws random bytes needs
//! that system call anyway, so its sandbox allows it. The module remembers up to 1024 pages that passed, because a
//! system call for each buffer would take as long as the bytes themselves.
//!
//! So a pointer to a page that passed, and that the program unmapped since, ends the process by SIGSEGV. The C library
//! does the same since glibc 2.41, whose getrandom writes without the kernel.

use crate::system;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The smallest page size. A larger page is checked in several parts.
const PAGE_BYTES: usize = 4096;

/// Linux 5.6: never waits, and looks at the buffer even before the kernel's generator is seeded.
const GRND_INSECURE: u32 = 4;

const SEATS: usize = 1024;

/// The numbers of pages that passed, in a hash table: each page has one place, where a later page may replace it. 0 is
/// an empty place, because calls with an address in page 0 go to the kernel.
static PASSED: [AtomicUsize; SEATS] = [const { AtomicUsize::new(0) }; SEATS];

/// Returns whether a buffer lies in one page, and this page passed before. `false` for an empty buffer.
#[inline(always)]
pub(crate) fn passed_before(start: *mut c_void, length: usize) -> bool {
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
