//! Sleep until a word changes.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::AtomicU32;

#[link(name = "synchronization")]
unsafe extern "system" {
    fn WaitOnAddress(
        address: *const c_void,
        compared: *const c_void,
        bytes: usize,
        timeout_ms: u32,
    ) -> i32;
    fn WakeByAddressSingle(address: *const c_void);
}

/// Sleeps while the word has this value, until [`wake_one`] or the end of the time.
pub(crate) fn wait(word: &AtomicU32, value: u32, timeout_ms: u32) {
    let (word, compared) = (ptr::from_ref(word).cast(), ptr::from_ref(&value).cast());
    // SAFETY: both pointers are to 4 bytes, and the system reads the first as a word of that size.
    unsafe { WaitOnAddress(word, compared, size_of::<u32>(), timeout_ms) };
}

/// Wakes a thread that sleeps at the word, if there is one.
pub(crate) fn wake_one(word: &AtomicU32) {
    // SAFETY: the system uses the address and no more.
    unsafe { WakeByAddressSingle(ptr::from_ref(word).cast()) };
}
