//! The engine of the process, as the functions here read from it: errno stays as it was.

use crate::system::KeptErrno;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use wellspring::{Engine, Error};

/// The engine, after the first read. Of this library alone, so that it is found with one load.
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(ptr::null_mut());

/// Fills `bytes`, of any length, without waiting.
///
/// Ready bytes are taken without any call that could change errno. All other reads may change it, and it is restored
/// there: to do so around every read would take two calls of the C library.
#[inline(always)]
pub(crate) fn try_fill(bytes: &mut [u8]) -> Result<(), Error> {
    // SAFETY: null, or the engine of the process, which is never dropped.
    match unsafe { ENGINE.load(Ordering::Acquire).as_ref() } {
        Some(engine) => engine.try_fill_guarded(bytes, KeptErrno::new),
        None => try_fill_first(bytes),
    }
}

#[cold]
#[inline(never)]
fn try_fill_first(bytes: &mut [u8]) -> Result<(), Error> {
    let _errno = KeptErrno::new();
    // Where a program is to draw the same bytes in every run, all its reads come here.
    if wellspring::pseudo::fill_repeated(bytes) {
        return Ok(());
    }
    let engine = Engine::try_process()?;
    ENGINE.store(ptr::from_ref(engine).cast_mut(), Ordering::Release);
    engine.try_fill(bytes)
}
