//! WELLSPRING: OpenSSL's generators are taps of the engine.

use crate::abi::{self, Dispatch, NO, YES, functions, table};
use crate::context::{COMMON, caller_bytes, entries, granted, mix};
use core::ffi::{c_int, c_uchar, c_uint, c_void};
use wellspring::Engine;
use wellspring_interpose::door_counters::{Door, count, count_failure};
use wellspring_interpose::repeat;

/// The functions of the generator.
pub(crate) static FUNCTIONS: [Dispatch; entries(2)] = table(
    &COMMON,
    &functions! {
        RAND_GENERATE: abi::Generate = generate,
        RAND_RESEED: abi::Reseed = reseed,
    },
);

/// # Safety
///
/// `context` is null or a context that lives. `destination` has `length` bytes that may be written, and `additional` is
/// null or has `additional_length` bytes.
unsafe extern "C" fn generate(
    context: *mut c_void,
    destination: *mut c_uchar,
    length: usize,
    strength: c_uint,
    prediction_resistance: c_int,
    additional: *const c_uchar,
    additional_length: usize,
) -> c_int {
    // SAFETY: the same contract.
    let Some(bytes) = (unsafe { granted(context, destination, length, strength) }) else {
        return NO;
    };
    if bytes.is_empty() {
        return YES;
    }
    // SAFETY: OpenSSL's contract for this function.
    unsafe { mix(additional, additional_length) };
    let filled = repeat::fill(bytes)
        || Engine::try_process()
            .and_then(|engine| {
                if prediction_resistance != 0 {
                    engine.reseed()?;
                }
                engine.try_fill(bytes)
            })
            .is_ok();
    outcome(filled, length)
}

/// The answer of the provider itself to RAND_bytes and RAND_priv_bytes, with no generator of OpenSSL between them.
///
/// # Safety
///
/// `destination` is null or has `length` bytes that may be written.
pub(crate) unsafe extern "C" fn random_bytes(
    _: *mut c_void,
    _is_private: c_int,
    destination: *mut c_void,
    length: usize,
    strength: c_uint,
) -> c_int {
    // SAFETY: the same contract.
    let Some(bytes) = (unsafe { caller_bytes(destination.cast(), length, strength) }) else {
        return NO;
    };
    let is_filled = bytes.is_empty()
        || repeat::fill(bytes)
        || Engine::try_process().is_ok_and(|engine| engine.try_fill(bytes).is_ok());
    outcome(is_filled, length)
}

/// Counts a request, and returns YES if it was served. OpenSSL gives the program an error if it was not.
fn outcome(is_filled: bool, length: usize) -> c_int {
    if is_filled {
        count(Door::Provider, length);
        YES
    } else {
        count_failure(Door::Provider);
        NO
    }
}

/// # Safety
///
/// `entropy` and `additional` are null or have as many bytes as their lengths say.
unsafe extern "C" fn reseed(
    _: *mut c_void,
    _prediction_resistance: c_int,
    entropy: *const c_uchar,
    entropy_length: usize,
    additional: *const c_uchar,
    additional_length: usize,
) -> c_int {
    // SAFETY: OpenSSL's contract for this function.
    unsafe {
        mix(entropy, entropy_length);
        mix(additional, additional_length);
    }
    let reseeded = Engine::try_process().and_then(Engine::reseed);
    c_int::from(reseeded.is_ok())
}
