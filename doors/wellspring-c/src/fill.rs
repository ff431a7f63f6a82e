//! Bytes and numbers from the calling thread's tap.

use crate::error::{number, of};
use crate::memory::bytes;
use core::ffi::{c_int, c_void};
use wellspring::Engine;

/// Writes length random bytes, fit for keys, to destination. If the generator has no seed of 128 bits yet, the function
/// waits for one. The length is at most PTRDIFF_MAX. destination may be null if the length is 0.
///
/// Any thread, a signal handler and a child process after fork(2) may call it. The first call in a process allocates
/// memory: make it outside of a handler.
///
/// Returns WS_OK, or WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `destination` is null, or points to `length` bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_fill(destination: *mut c_void, length: usize) -> c_int {
    // SAFETY: the same contract.
    let filled = unsafe { bytes(destination, length) }.and_then(|bytes| {
        Engine::try_process()
            .map(|engine| engine.fill(bytes))
            .map_err(number)
    });
    of(filled)
}

/// Like ws_fill, but returns WS_NOT_SEEDED instead of waiting for a seed.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `destination` is null, or points to `length` bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_try_fill(destination: *mut c_void, length: usize) -> c_int {
    // SAFETY: the same contract.
    let filled = unsafe { bytes(destination, length) }.and_then(|bytes| {
        Engine::try_process()
            .and_then(|engine| engine.try_fill(bytes))
            .map_err(number)
    });
    of(filled)
}

/// Returns 32 random bits. Like ws_fill it waits for a seed; without memory for a generator it ends the process by
/// abort(3).
#[unsafe(no_mangle)]
pub extern "C" fn ws_u32() -> u32 {
    wellspring::u32()
}

/// Returns 64 random bits. Like ws_fill it waits for a seed; without memory for a generator it ends the process by
/// abort(3).
#[unsafe(no_mangle)]
pub extern "C" fn ws_u64() -> u64 {
    wellspring::u64()
}

/// Returns a number from 0 to count - 1, each equally likely, and 0 if count is 0. Waits and ends the process like
/// ws_u64.
#[unsafe(no_mangle)]
pub extern "C" fn ws_below(count: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    wellspring::below(count)
}

/// Returns a number in [0, 1), a multiple of 2 to the power of -53. Waits and ends the process like ws_u64.
#[unsafe(no_mangle)]
pub extern "C" fn ws_double() -> f64 {
    wellspring::f64()
}
