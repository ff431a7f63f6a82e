//! A caller's pointers: checked, and turned into slices and references.

use crate::error::{WS_NO_MEMORY, WS_NULL, WS_TOO_LONG};
use core::ffi::{c_int, c_void};
use wellspring_os::memory::try_box;

/// Returns the caller's `length` bytes at `start` as a slice. Null with length 0 gives an empty slice.
///
/// # Safety
///
/// A pointer that is not null points to `length` bytes that the caller may write, and nothing else uses them while the
/// slice lives.
#[inline(always)]
pub(crate) unsafe fn bytes<'a>(start: *mut c_void, length: usize) -> Result<&'a mut [u8], c_int> {
    // SAFETY: the same contract.
    unsafe { numbers(start.cast(), length) }
}

/// Like [`bytes`], for `length` numbers.
///
/// # Safety
///
/// A pointer that is not null points to `length` numbers that the caller may write, and nothing else uses them while the
/// slice lives.
#[inline(always)]
pub(crate) unsafe fn numbers<'a, T>(start: *mut T, length: usize) -> Result<&'a mut [T], c_int> {
    if length == 0 {
        return Ok(&mut []);
    }
    if start.is_null() {
        return Err(WS_NULL);
    }
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(WS_TOO_LONG);
    }
    // SAFETY: the caller's promise, and the checks above. The memory comes from C: the compiler cannot know whether it
    // was written before, and nothing here reads it before it is written.
    Ok(unsafe { core::slice::from_raw_parts_mut(start, length) })
}

/// Returns the caller's `length` numbers at `start`, which are only read. Null with length 0 gives an empty slice.
///
/// # Safety
///
/// A pointer that is not null points to `length` numbers, and nothing writes them while the slice lives.
pub(crate) unsafe fn vector<'a, T>(start: *const T, length: usize) -> Result<&'a [T], c_int> {
    if length == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(WS_NULL);
    }
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(WS_TOO_LONG);
    }
    // SAFETY: the caller's promise, and the checks above.
    Ok(unsafe { core::slice::from_raw_parts(start, length) })
}

/// Moves a value to the heap; [`drop_placed`] frees it. Without memory it returns an error, where `Box` would end the
/// process.
pub(crate) fn place<T>(value: T) -> Result<*mut T, c_int> {
    let placed = try_box(value).map_err(|_| WS_NO_MEMORY)?;
    Ok(Box::into_raw(placed))
}

/// Drops and frees a value from [`place`]. Does nothing if `start` is null.
///
/// # Safety
///
/// `start` is null, or from [`place`] and not dropped before.
pub(crate) unsafe fn drop_placed<T>(start: *mut T) {
    if !start.is_null() {
        // SAFETY: `place` took it out of a `Box`.
        drop(unsafe { Box::from_raw(start) });
    }
}

/// Writes the pointer that `make` returns to the caller's `place`; null if `make` fails.
///
/// # Safety
///
/// `place` is null, or the caller may write a pointer there.
pub(crate) unsafe fn give<T>(
    place: *mut *mut T,
    make: impl FnOnce() -> Result<*mut T, c_int>,
) -> Result<(), c_int> {
    if place.is_null() {
        return Err(WS_NULL);
    }
    // SAFETY: not null, hence writable. It stays null after an error, so that a caller who ignores the error does no
    // harm.
    unsafe { place.write(core::ptr::null_mut()) };
    let made = make()?;
    // SAFETY: as above.
    unsafe { place.write(made) };
    Ok(())
}
