//! A thread-specific key of the C library, whose destructor runs when a thread ends.

use core::ffi::c_void;
use core::ptr;

/// In glibc, setting one of the first 32 keys allocates nothing; a later one may call calloc(3).
const ALWAYS_THERE: u32 = 32;

/// A new key. `None` if the system has none left.
pub(crate) fn create(destructor: unsafe extern "C" fn(*mut c_void)) -> Option<u32> {
    let mut key = 0;
    // SAFETY: the pointer is to the key, and the destructor may be called with any argument.
    let answer = unsafe { libc::pthread_key_create(&raw mut key, Some(destructor)) };
    (answer == 0).then_some(key)
}

/// Deletes a key. Its destructor is not called any more.
pub(crate) fn delete(key: u32) {
    // SAFETY: libc checks the number.
    unsafe { libc::pthread_key_delete(key) };
}

/// Sees to it that the destructor is called when this thread ends. Returns whether the system agreed.
pub(crate) fn set(key: u32) -> bool {
    // SAFETY: libc checks the number. Any value but null has the destructor called.
    unsafe { libc::pthread_setspecific(key, ptr::dangling()) == 0 }
}

/// Whether [`set`] may allocate memory.
pub(crate) fn may_allocate(key: u32) -> bool {
    cfg!(target_env = "gnu") && key >= ALWAYS_THERE
}
