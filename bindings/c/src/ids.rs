//! Identifiers: UUIDs, ULIDs, and their text.

use crate::error::{WS_NULL, WS_OK, WS_TOO_LONG, number, of};
use crate::fill::with_random;
use core::ffi::{c_char, c_int, c_void};
use core::slice;
use wellspring::ids;
use wellspring_os::thread_state::CurrentThread;

/// Writes an identifier of random bytes to the caller's 16 bytes.
///
/// # Safety
///
/// `id` is null, or points to 16 bytes that the caller may write.
#[inline(always)]
unsafe fn give(id: *mut u8, make: impl Fn([u8; 16], CurrentThread) -> [u8; 16]) -> c_int {
    if id.is_null() {
        return WS_NULL;
    }
    of(with_random(|random, thread| {
        // SAFETY: the caller's promise.
        unsafe { id.cast::<[u8; 16]>().write_unaligned(make(random, thread)) }
    })
    .map_err(number))
}

/// Writes a UUID of version 4, 122 random bits, to the 16 bytes at id. It may be called wherever ws_fill may, and waits
/// like ws_fill.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `id` is null, or points to 16 bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_uuid4(id: *mut u8) -> c_int {
    // SAFETY: the same contract.
    unsafe { give(id, |random, _| ids::uuid4_of(random)) }
}

/// Writes a UUID of version 7 to the 16 bytes at id: the time in milliseconds, 18 bits of a counter, 56 random bits. Those
/// of a thread are in ascending order, also if the clock goes back. The time is up to a tick of the kernel, 1 to 10 ms,
/// late. A signal handler may call it, and its identifiers may sort before or after those of the call that it interrupted.
/// Waits like ws_fill.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `id` is null, or points to 16 bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_uuid7(id: *mut u8) -> c_int {
    // SAFETY: the same contract.
    unsafe { give(id, ids::uuid7_of) }
}

/// Writes a ULID to the 16 bytes at id: as ws_uuid7, with 62 random bits.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `id` is null, or points to 16 bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_ulid(id: *mut u8) -> c_int {
    // SAFETY: the same contract.
    unsafe { give(id, ids::ulid_of) }
}

/// Writes the text of an identifier, and a zero behind it.
///
/// # Safety
///
/// `id` is null or points to 16 bytes, and `text` is null or points to `N` + 1 characters that the caller may write.
#[inline(always)]
unsafe fn give_text<const N: usize>(
    id: *const u8,
    text: *mut c_char,
    write: impl Fn([u8; 16], &mut [u8; N]),
) -> c_int {
    if id.is_null() || text.is_null() {
        return WS_NULL;
    }
    // SAFETY: the caller's promise. Both may be the same memory: all is read before the first write. That the compiler
    // cannot know whether the text was written before is no matter, since nothing reads it before.
    unsafe {
        let id = id.cast::<[u8; 16]>().read_unaligned();
        write(id, &mut *text.cast());
        text.add(N).write(0);
    }
    WS_OK
}

/// Writes the text of the UUID at id to text, 36 characters and a zero: hexadecimal digits in lower case, with hyphens.
///
/// Returns WS_OK, or WS_NULL.
///
/// # Safety
///
/// `id` is null or points to 16 bytes, and `text` is null or points to 37 characters that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_uuid_text(id: *const u8, text: *mut c_char) -> c_int {
    // SAFETY: the same contract.
    unsafe { give_text(id, text, ids::write_uuid) }
}

/// Writes the text of the ULID at id to text, 26 characters and a zero: Crockford's base 32 in upper case.
///
/// Returns WS_OK, or WS_NULL.
///
/// # Safety
///
/// `id` is null or points to 16 bytes, and `text` is null or points to 27 characters that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_ulid_text(id: *const u8, text: *mut c_char) -> c_int {
    // SAFETY: the same contract.
    unsafe { give_text(id, text, ids::write_ulid) }
}

/// Writes length bytes, such as a trace id of 16 or 32 from ws_fill, as hexadecimal digits in lower case to text, which has
/// room for 2 * length characters and a zero, and does not overlap bytes. bytes may be null if the length is 0.
///
/// Returns WS_OK, or WS_NULL or WS_TOO_LONG; after an error nothing was written.
///
/// # Safety
///
/// `bytes` is null or points to `length` bytes, and `text` is null or points to 2 * `length` + 1 other characters that the
/// caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_hex(bytes: *const c_void, length: usize, text: *mut c_char) -> c_int {
    if text.is_null() || (bytes.is_null() && length > 0) {
        return WS_NULL;
    }
    if length > isize::MAX as usize / 2 - 1 {
        return WS_TOO_LONG;
    }
    // SAFETY: the caller's promise, and the checks above.
    unsafe {
        if length > 0 {
            let bytes = slice::from_raw_parts(bytes.cast(), length);
            let digits = slice::from_raw_parts_mut(text.cast(), 2 * length);
            ids::write_hex(bytes, digits);
        }
        text.add(2 * length).write(0);
    }
    WS_OK
}
