//! The engine of the process, as the functions here read from it: errno stays as it was.

use crate::system::KeptErrno;
use crate::{heap, vfork};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use wellspring::{Engine, Error};
use wellspring_interpose::repeat;
use wellspring_os::sandbox;

/// The engine, after the first read. Of this library alone, so that it is found with one load.
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(ptr::null_mut());

/// The reads that found no engine and made none.
static READS_WITHOUT: AtomicU32 = AtomicU32::new(0);

/// The engine of the process, if there is one.
#[inline(always)]
fn engine() -> Option<&'static Engine> {
    // SAFETY: null, or the engine of the process, which is never dropped.
    unsafe { ENGINE.load(Ordering::Acquire).as_ref() }
}

/// Fills `bytes`, of any length, without waiting.
///
/// Ready bytes are taken without any call that could change errno. All other reads may change it, and it is restored
/// there: to do so around every read would take two calls of the C library.
#[inline(always)]
pub(crate) fn try_fill(bytes: &mut [u8]) -> Result<(), Error> {
    match engine() {
        Some(engine) => engine.try_fill_guarded(bytes, KeptErrno::new),
        None => try_fill_first(bytes),
    }
}

#[cold]
#[inline(never)]
fn try_fill_first(bytes: &mut [u8]) -> Result<(), Error> {
    let _errno = KeptErrno::new();
    // Where a program is to draw the same bytes in every run, all its reads come here.
    if fill_repeated(bytes) {
        return Ok(());
    }
    fill_by(make()?, bytes)
}

/// These three are not inlined: the first read may be on a signal stack of 8 KiB, and then uses the stack of one of them, not
/// of all.
#[inline(never)]
fn fill_repeated(bytes: &mut [u8]) -> bool {
    repeat::fill(bytes)
}

#[inline(never)]
fn fill_by(engine: &Engine, bytes: &mut [u8]) -> Result<(), Error> {
    engine.try_fill(bytes)
}

/// Makes the engine, if there is memory; not in a sandbox. The 1st, 2nd, 4th, 8th .. read tries it, so that a program without
/// memory does not pay for it at each read.
#[inline(never)]
pub(crate) fn make() -> Result<&'static Engine, Error> {
    if let Some(engine) = engine() {
        return Ok(engine);
    }
    // Counted after the try: threads that draw while one makes the engine wait for it.
    let reads = READS_WITHOUT.load(Ordering::Relaxed).wrapping_add(1);
    let may_try = reads.is_power_of_two() && !sandbox::is_prepared() && heap::reserve();
    let made = if may_try {
        Engine::try_process()
    } else {
        Err(Error::Memory)
    };
    let engine = made.inspect_err(|_| {
        READS_WITHOUT.fetch_add(1, Ordering::Relaxed);
    })?;
    if !vfork::is_child() {
        let _ = sandbox::owns_memory();
    }
    ENGINE.store(ptr::from_ref(engine).cast_mut(), Ordering::Release);
    Ok(engine)
}
