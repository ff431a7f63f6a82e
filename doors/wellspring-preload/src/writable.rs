//! Which part of a caller's buffer may be written.
//!
//! The kernel answers a bad pointer with EFAULT. A store would end the process instead. So before the first store to a
//! page the kernel is asked to write one byte there, by getrandom(2) itself: the one system call that every sandbox in
//! which this library is of use allows. Pages that passed are remembered, 1024 of them, because a system call for
//! each of the callers' buffers would cost as much as their bytes.
//!
//! So a pointer to memory that was good in an earlier call and was unmapped since ends the process by SIGSEGV. The C
//! library does the same since glibc 2.41, whose getrandom writes without the kernel.

use crate::system;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The smallest page. Where pages are larger, each is asked about several times.
const PAGE_BYTES: usize = 4096;

/// Linux 5.6: never waits, and looks at the buffer even before the kernel's generator is seeded.
const GRND_INSECURE: u32 = 4;

const SEATS: usize = 1024;

/// Numbers of pages that passed; each has one seat. 0 is none: the page of the null pointer is left to the kernel.
static PASSED: [AtomicUsize; SEATS] = [const { AtomicUsize::new(0) }; SEATS];

/// How many bytes from `start` on may be written, as far as `length`. 0 also where the kernel gives no answer.
#[inline]
pub(crate) fn writable(start: *mut c_void, length: usize) -> usize {
    let first = start.addr();
    let Some(last) = first.checked_add(length.saturating_sub(1)) else {
        return 0;
    };
    let mut at = first;
    loop {
        let page = at / PAGE_BYTES;
        if page == 0 {
            return 0;
        }
        // A constant from Knuth spreads neighbouring stacks, which are a power of two apart.
        let seat = (page.wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> (usize::BITS - 10);
        let seat = &PASSED[seat % SEATS];
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

/// Asks the kernel about a byte. It is overwritten afterwards.
#[cold]
fn passes(address: usize) -> bool {
    let start = ptr::with_exposed_provenance_mut(address);
    let mut result = system::getrandom(start, 1, GRND_INSECURE);
    if result == -(libc::EINVAL as isize) {
        result = system::getrandom(start, 1, libc::GRND_NONBLOCK);
    }
    result == 1
}
