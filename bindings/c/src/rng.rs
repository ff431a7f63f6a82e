//! Owned generators.

use crate::error::{WS_NULL, number, of};
use crate::fill::refuse;
use crate::memory::{bytes, drop_placed, give, place};
use core::ffi::{c_int, c_void};
use wellspring::{Engine, LocalRng};
use zeroize::Zeroizing;

// Empty, so that the interface does not depend on what is inside: a pointer to it is one to a `LocalRng`.
/// A generator that one thread at a time may use. It notices forks and reseeds, takes one page of memory, and is erased
/// when it is freed.
#[repr(C)]
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct ws_rng([u8; 0]);

/// Makes a generator and stores it in *rng; free it with ws_rng_free. Two threads must not use one generator at the
/// same time, and a signal handler must not use the one that it interrupted: make one for each, or use ws_fill. A handler
/// may leave a call that draws from it by siglongjmp(3): the generator loses the bytes of that call.
///
/// Returns WS_OK, or WS_NULL or WS_NO_MEMORY; after an error *rng is null, unless rng itself is.
///
/// # Safety
///
/// `rng` is null, or the caller may write a pointer there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_new(rng: *mut *mut ws_rng) -> c_int {
    let make = || {
        let engine = Engine::try_process().map_err(number)?;
        place(engine.rng()).map(<*mut LocalRng>::cast)
    };
    // SAFETY: the same contract.
    of(unsafe { give(rng, make) })
}

/// Erases and frees a generator. Does nothing if rng is null.
///
/// # Safety
///
/// `rng` is null, or from `ws_rng_new` and not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_free(rng: *mut ws_rng) {
    // SAFETY: the same contract.
    unsafe { drop_placed(rng.cast::<LocalRng>()) };
}

/// Writes length random bytes from a generator to destination. Waits for a seed like ws_fill.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_TOO_LONG; after an error nothing was written.
///
/// # Safety
///
/// `rng` is null or a generator that nothing else uses now; `destination` as in `ws_fill`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_fill(
    rng: *mut ws_rng,
    destination: *mut c_void,
    length: usize,
) -> c_int {
    // SAFETY: the same contract.
    let filled = unsafe { rng.cast::<LocalRng>().as_mut() }
        .ok_or(WS_NULL)
        .and_then(|rng| {
            // SAFETY: the same contract.
            let bytes = unsafe { bytes(destination, length) }?;
            rng.fill_or_fail(bytes).map_err(number)
        });
    of(filled)
}

/// Returns 32 random bits from a generator, which must not be null. Waits and ends the process like ws_u32.
///
/// # Safety
///
/// A generator that nothing else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_u32(rng: *mut ws_rng) -> u32 {
    // SAFETY: the same contract.
    u32::from_le_bytes(array(unsafe { given(rng) }))
}

/// Returns 64 random bits from a generator, which must not be null. Waits and ends the process like ws_u64.
///
/// # Safety
///
/// A generator that nothing else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_u64(rng: *mut ws_rng) -> u64 {
    // SAFETY: the same contract.
    u64::from_le_bytes(array(unsafe { given(rng) }))
}

/// Returns a number from 0 to count - 1, each equally likely, and 0 if count is 0, from a generator, which must not be
/// null. Waits and ends the process like ws_u64.
///
/// # Safety
///
/// A generator that nothing else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_rng_below(rng: *mut ws_rng, count: u64) -> u64 {
    // SAFETY: the same contract.
    let rng = unsafe { given(rng) };
    match count.checked_sub(1) {
        Some(last) => wellspring::u64_from_words(last, || u64::from_le_bytes(array(rng))),
        None => 0,
    }
}

#[inline(always)]
fn array<const N: usize>(rng: &mut LocalRng) -> [u8; N] {
    #[cold]
    #[inline(never)]
    fn array_late<const N: usize>(rng: &mut LocalRng) -> [u8; N] {
        let mut bytes = Zeroizing::new([0; N]);
        let filled = rng.fill_or_fail(&mut *bytes);
        filled.unwrap_or_else(|error| refuse(error));
        *bytes
    }

    match rng.ready_bytes() {
        Some(bytes) => bytes,
        None => array_late(rng),
    }
}

/// Returns the generator. A null pointer ends the process, because a function that returns a number cannot return an
/// error.
///
/// # Safety
///
/// `rng` is null, or a generator that nothing else uses while the reference lives.
#[inline(always)]
unsafe fn given<'a>(rng: *mut ws_rng) -> &'a mut LocalRng {
    // SAFETY: the same contract.
    match unsafe { rng.cast::<LocalRng>().as_mut() } {
        Some(rng) => rng,
        None => panic!("wellspring: the generator is a null pointer"),
    }
}
