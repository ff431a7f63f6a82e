//! The two algorithms. WELLSPRING: OpenSSL's generators are taps of the engine. WELLSPRING-SEED: a seed source beneath OpenSSL's
//! own generator, for programs that must keep OpenSSL's.

use crate::abi::{self, Dispatch, NO, YES, functions, table};
use crate::context::{COMMON, caller_bytes, entries, granted, mix};
use core::ffi::{c_int, c_uchar, c_uint, c_void};
use core::{ptr, slice};
use wellspring::Engine;
use wellspring_interpose::door_counters::{Door, count, count_failure};
use wellspring_interpose::repeat;
use zeroize::Zeroize;

/// The functions of the generator.
pub(crate) static GENERATOR: [Dispatch; entries(2)] = table(
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

// ---- WELLSPRING-SEED ----
// WELLSPRING-SEED: a seed source beneath OpenSSL's own generator, for programs that must keep OpenSSL's.

/// The functions of the seed source.
pub(crate) static SEED: [Dispatch; entries(4)] = table(
    &COMMON,
    &functions! {
        RAND_GENERATE: abi::Generate = generate_as_source,
        RAND_RESEED: abi::Reseed = reseed_source,
        RAND_GET_SEED: abi::GetSeed = get_seed,
        RAND_CLEAR_SEED: abi::ClearSeed = clear_seed,
    },
);

/// # Safety
///
/// `context` is null or a context that lives. `destination` is null or has `length` bytes that may be written.
unsafe extern "C" fn generate_as_source(
    context: *mut c_void,
    destination: *mut c_uchar,
    length: usize,
    strength: c_uint,
    _prediction_resistance: c_int,
    _additional: *const c_uchar,
    _additional_length: usize,
) -> c_int {
    // SAFETY: the same contract.
    match unsafe { granted(context, destination, length, strength) } {
        Some([]) => YES,
        Some(bytes) => c_int::from(fill(bytes)),
        None => NO,
    }
}

/// # Safety
///
/// None needed; OpenSSL's type.
unsafe extern "C" fn reseed_source(
    _: *mut c_void,
    _: c_int,
    _: *const c_uchar,
    _: usize,
    _: *const c_uchar,
    _: usize,
) -> c_int {
    let reseeded = Engine::try_process().and_then(Engine::reseed);
    c_int::from(reseeded.is_ok())
}

/// Makes a seed of `least` to `most` bytes with at least `entropy_bits` bits of entropy, 8 in each byte, and reseeds the engine
/// for it. Returns its length, or 0 on failure.
///
/// # Safety
///
/// `place` may be written; the rest is OpenSSL's contract.
unsafe extern "C" fn get_seed(
    _: *mut c_void,
    place: *mut *mut c_uchar,
    entropy_bits: c_int,
    least: usize,
    most: usize,
    _prediction_resistance: c_int,
    additional: *const c_uchar,
    additional_length: usize,
) -> usize {
    let bits = usize::try_from(entropy_bits).unwrap_or(0);
    let length = bits.div_ceil(8).max(least);
    if length == 0 || length > most || place.is_null() {
        return 0;
    }
    let mut seed = Vec::new();
    if seed.try_reserve_exact(length).is_err() {
        count_failure(Door::ProviderSeed);
        return 0;
    }
    seed.resize(length, 0);
    let mut seed = seed.into_boxed_slice();
    let is_filled = repeat::fill(&mut seed)
        || Engine::try_process().is_ok_and(|engine| fill_afresh(engine, &mut seed, bits as u64));
    if !counted(is_filled, length) {
        return 0;
    }
    if !additional.is_null() {
        // SAFETY: not null, and of this length.
        let additional = unsafe { slice::from_raw_parts(additional, additional_length) };
        seed.iter_mut()
            .zip(additional)
            .for_each(|(byte, more)| *byte ^= more);
    }
    // SAFETY: the caller's promise. `clear_seed` takes it back.
    unsafe { place.write(Box::into_raw(seed).cast()) };
    length
}

/// Erases and frees a seed.
///
/// # Safety
///
/// `seed` is null, or from [`get_seed`] with this length and not freed before.
unsafe extern "C" fn clear_seed(_: *mut c_void, seed: *mut c_uchar, length: usize) {
    if !seed.is_null() {
        // SAFETY: the same contract.
        let mut seed = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(seed, length)) };
        seed.zeroize();
    }
}

fn fill(bytes: &mut [u8]) -> bool {
    let is_filled = repeat::fill(bytes)
        || Engine::try_process().is_ok_and(|engine| engine.try_fill(bytes).is_ok());
    counted(is_filled, bytes.len())
}

/// Counts a seed, or that there was none. Returns whether there was one.
fn counted(is_filled: bool, length: usize) -> bool {
    if is_filled {
        count(Door::ProviderSeed, length);
    } else {
        count_failure(Door::ProviderSeed);
    }
    is_filled
}

/// The first reseeds of an engine may only test its sources.
const MAX_RESEEDS: usize = 4;

/// Fills a seed after a reseed to which the sources gave this many bits of credit. An engine goes on to serve its readers when
/// its sources fail. A seed must bring fresh noise, so OpenSSL gets no seed while the sources or their health tests fail.
fn fill_afresh(engine: &Engine, seed: &mut [u8], bits: u64) -> bool {
    let credit = || -> u64 {
        let sources = engine.stats().sources;
        sources.iter().map(|source| source.credited_bits).sum()
    };
    let before = credit();
    let is_fresh = (0..MAX_RESEEDS)
        .any(|_| engine.reseed().is_ok() && credit().saturating_sub(before) >= bits);
    is_fresh && engine.try_fill(seed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;
    use wellspring::{MinEntropy, Source, SourceError};

    /// Gives the engine's bytes; fails from draw number `fails_from` on, and repeats a byte from draw `repeats_from` on.
    #[derive(Debug)]
    struct Fickle {
        draws: AtomicUsize,
        fails_from: usize,
        repeats_from: usize,
    }

    impl Source for Fickle {
        fn name(&self) -> &'static str {
            "fickle"
        }

        fn min_entropy(&self) -> MinEntropy {
            MinEntropy::FULL
        }

        fn reason(&self) -> &'static str {
            "a test"
        }

        fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
            let draw = self.draws.fetch_add(1, Ordering::Relaxed);
            if draw >= self.fails_from {
                return Err(SourceError::System(5));
            }
            if draw >= self.repeats_from {
                destination.fill(7);
            } else {
                wellspring::fill(destination);
            }
            Ok(destination.len())
        }
    }

    /// Asks for 100 seeds from an engine with this source and a source without credit. Returns how many were given before the
    /// first refusal.
    fn seeds_of(fails_from: usize, repeats_from: usize) -> usize {
        let draws = AtomicUsize::new(0);
        let fickle = Fickle {
            draws,
            fails_from,
            repeats_from,
        };
        let sources: [Arc<dyn Source>; 2] = [
            Arc::new(fickle),
            Arc::new(wellspring_sources::Cpu::default()),
        ];
        let engine = Engine::builder().sources(sources).build().unwrap();
        let given = (0..100).map(|_| fill_afresh(&engine, &mut [0; 48], 256));
        let given: Vec<bool> = given.collect();
        let first = given.iter().take_while(|&&given| given).count();
        assert!(
            !given[first..].contains(&true),
            "a seed after a refusal: {given:?}"
        );
        first
    }

    #[test]
    fn a_source_that_fails_or_repeats_gives_no_seed_at_the_start_and_none_at_a_reseed() {
        const NEVER: usize = usize::MAX;
        assert_eq!(seeds_of(NEVER, NEVER), 100);
        assert_eq!(seeds_of(0, NEVER), 0, "it fails at the start");
        assert_eq!(seeds_of(NEVER, 0), 0, "it repeats at the start");
        for later in [seeds_of(200, NEVER), seeds_of(NEVER, 200)] {
            assert!((1..100).contains(&later), "{later} seeds");
        }
    }

    #[test]
    fn a_seed_has_the_length_that_was_asked_for_and_is_freed() {
        for (bits, least, most, expected) in [
            (256, 32, 1024, 32),
            (256, 48, 1024, 48),
            (129, 0, 1024, 17),
            (256, 0, 31, 0),
            (0, 0, 100, 0),
        ] {
            let mut seed = ptr::null_mut();
            let none = ptr::null();
            // SAFETY: OpenSSL's contract, as it would call.
            let length = unsafe {
                get_seed(
                    ptr::null_mut(),
                    &raw mut seed,
                    bits,
                    least,
                    most,
                    0,
                    none,
                    0,
                )
            };
            assert_eq!(length, expected);
            assert_eq!(seed.is_null(), expected == 0);
            // SAFETY: the seed from above.
            unsafe { clear_seed(ptr::null_mut(), seed, length) };
        }
    }
}
