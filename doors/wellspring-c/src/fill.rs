//! Bytes and numbers from the calling thread's tap.

use crate::error::{number, of};
use crate::memory::bytes;
use core::ffi::{c_int, c_void};
use wellspring::Engine;

/// Fills length bytes at destination with random bytes fit for keys. Waits until the generator is seeded with 128 bits,
/// if that is necessary. Any length up to PTRDIFF_MAX; null with length 0 is fine.
///
/// Any thread may call it, a signal handler may, and a child process after fork(2). The first call in a process
/// allocates memory: make it outside of a handler.
///
/// Returns WS_OK, or WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; nothing was then written.
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

/// Fills length bytes at destination, as ws_fill, and does not wait.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; nothing was then written.
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

/// Returns 32 random bits. As ws_fill, but a process that has no memory for a generator ends by abort(3).
#[unsafe(no_mangle)]
pub extern "C" fn ws_u32() -> u32 {
    u32::from_le_bytes(array())
}

/// Returns 64 random bits. As ws_fill, but a process that has no memory for a generator ends by abort(3).
#[unsafe(no_mangle)]
pub extern "C" fn ws_u64() -> u64 {
    u64::from_le_bytes(array())
}

/// Returns a number from 0 to count - 1, each equally likely, and 0 if count is 0. As ws_u64.
#[unsafe(no_mangle)]
pub extern "C" fn ws_below(count: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    wellspring::below(count)
}

/// Returns a number in [0, 1), a multiple of 2 to the power of -53. As ws_u64.
#[unsafe(no_mangle)]
pub extern "C" fn ws_double() -> f64 {
    wellspring::f64()
}

/// `N` bytes. [`Engine::fill`] is inlined for this length. `wellspring::bytes` would be a call with a length that is
/// known at run time only, and would cost another third.
#[inline(always)]
fn array<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    Engine::process().fill(&mut bytes);
    bytes
}
