//! WELLSPRING: OpenSSL's generators are taps of the engine.

use crate::abi::{self, Dispatch, NO, YES, functions, table};
use crate::context::{COMMON, entries, granted, mix};
use crate::report::count;
use core::ffi::{c_int, c_uchar, c_uint, c_void};
use wellspring::Engine;
use wellspring_os::door_counters::Door;

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
    let filled = Engine::try_process().and_then(|engine| {
        if prediction_resistance != 0 {
            engine.reseed()?;
        }
        engine.try_fill(bytes)
    });
    if filled.is_err() {
        return NO;
    }
    count(Door::Provider, length);
    YES
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
