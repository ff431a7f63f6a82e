//! arc4random(3) and its family. They return no errors: without any source of bytes the process ends.

use crate::engine::try_fill;
use crate::system;
use core::ffi::c_void;
use core::slice;
use wellspring_interpose::door_counters::{Door, count, count_failure};

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
    fill(unsafe { slice::from_raw_parts_mut(destination.cast(), length) });
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
    fill(&mut bytes);
    bytes
}

#[inline(always)]
fn fill(bytes: &mut [u8]) {
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
