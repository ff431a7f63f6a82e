//! RAND_bytes(3) and RAND_priv_bytes(3) of OpenSSL, where `WELLSPRING_RAND_BYTES=1` asks for it. Else OpenSSL's own.
//!
//! Off by default: a program that must use a validated generator would not. The provider is the better door.

use crate::next::Next;
use crate::report::count;
use crate::system::KeptErrno;
use core::ffi::c_int;
use core::slice;
use core::sync::atomic::{AtomicBool, Ordering};
use wellspring::Engine;
use wellspring_sys::door_counters::Door;

type Rand = unsafe extern "C-unwind" fn(*mut u8, c_int) -> c_int;

static SERVES: AtomicBool = AtomicBool::new(false);
static RAND: Next = Next::new(c"RAND_bytes");
static RAND_PRIV: Next = Next::new(c"RAND_priv_bytes");

/// What OpenSSL's function returns where no generator can do this.
const NOT_SUPPORTED: c_int = -1;

/// Whether to serve from now on.
pub(crate) fn serve(wish: bool) {
    SERVES.store(wish, Ordering::Relaxed);
}

/// As RAND_bytes(3).
///
/// # Safety
///
/// `length` bytes at `destination` are the caller's to write.
#[allow(non_snake_case, reason = "OpenSSL's name")]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn RAND_bytes(destination: *mut u8, length: c_int) -> c_int {
    // SAFETY: the same contract.
    unsafe { fill(&RAND, destination, length) }
}

/// As RAND_priv_bytes(3).
///
/// # Safety
///
/// As [`RAND_bytes`].
#[allow(non_snake_case, reason = "OpenSSL's name")]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn RAND_priv_bytes(destination: *mut u8, length: c_int) -> c_int {
    // SAFETY: the same contract.
    unsafe { fill(&RAND_PRIV, destination, length) }
}

/// # Safety
///
/// As [`RAND_bytes`].
unsafe fn fill(next: &Next, destination: *mut u8, length: c_int) -> c_int {
    if SERVES.load(Ordering::Relaxed) && length > 0 && !destination.is_null() {
        let _errno = KeptErrno::new();
        // SAFETY: not null; the caller's promise.
        let bytes = unsafe { slice::from_raw_parts_mut(destination, length as usize) };
        let filled = Engine::try_process().and_then(|engine| engine.try_fill(bytes));
        if filled.is_ok() {
            count(Door::RandBytes, bytes.len());
            return 1;
        }
    }
    // SAFETY: the type of this function; the caller's arguments.
    match unsafe { next.get_or_find::<Rand>() } {
        // SAFETY: as above.
        Some(rand) => unsafe { rand(destination, length) },
        None => NOT_SUPPORTED,
    }
}
