//! The key in the form that a backend needs, and the work of each backend.

use crate::{KEY_BYTES, chacha20_key::ChaCha20Key, portable};
#[cfg(target_arch = "x86_64")]
use crate::{
    Prf,
    runs::fill_in_runs,
    x86::{
        aes_ni, aes_schedule::RoundKeys, chacha20_avx2, chacha20_avx512, chacha20_sse2, vaes256,
        vaes512,
    },
};

#[cfg(target_arch = "x86_64")]
const AES_BLOCK_BYTES: usize = Prf::Aes256.block_bytes();
#[cfg(target_arch = "x86_64")]
const CHACHA_BLOCK_BYTES: usize = Prf::ChaCha20.block_bytes();

/// A key.
#[allow(
    clippy::large_enum_variant,
    reason = "the owner chose and locked the memory of the key: it does not go behind a pointer"
)]
pub(crate) enum Schedule {
    /// For AES instructions of any width.
    #[cfg(target_arch = "x86_64")]
    RoundKeys(RoundKeys),
    Bitsliced(portable::Aes256),
    ChaCha20(ChaCha20Key),
}

/// How a schedule is made.
#[derive(Clone, Copy)]
pub(crate) enum Expansion {
    #[cfg(target_arch = "x86_64")]
    RoundKeys,
    /// By a pointer, so that a program that names no such backend is linked without it.
    Bitsliced(fn(&[u8; KEY_BYTES]) -> portable::Aes256),
    ChaCha20,
}

/// Overwrites a destination with the blocks from a counter on and steps the counter.
pub(crate) type Fill = fn(&Schedule, &mut u128, &mut [u8]);

/// Panics: the schedule is not that of the backend. `Keystream` gives each backend its own.
#[cold]
#[inline(never)]
fn wrong_schedule() {
    panic!("the key was set up for another backend");
}

/// Writes a [`Fill`] for instructions of x86-64.
#[cfg(target_arch = "x86_64")]
macro_rules! fill {
    ($name:ident, $schedule:ident, $block_bytes:ident, $backend:path) => {
        pub(crate) fn $name(schedule: &Schedule, counter: &mut u128, destination: &mut [u8]) {
            let Schedule::$schedule(key) = schedule else {
                return wrong_schedule();
            };
            fill_in_runs(counter, $block_bytes, destination, |first, run| {
                // SAFETY: `Keystream::new` asserted that the backend is available.
                unsafe { $backend(key, first, run) }
            })
        }
    };
    ($name:ident, $block_bytes:ident, $backend:ident::$fill:ident) => {
        pub(crate) fn $name<const ROUNDS: usize>(
            schedule: &Schedule,
            counter: &mut u128,
            destination: &mut [u8],
        ) {
            let Schedule::ChaCha20(key) = schedule else {
                return wrong_schedule();
            };
            fill_in_runs(counter, $block_bytes, destination, |first, run| {
                // SAFETY: `Keystream::new` asserted that the backend is available.
                unsafe { $backend::$fill::<ROUNDS>(key, first, run) }
            })
        }
    };
}

#[cfg(target_arch = "x86_64")]
fill!(aes256_vaes512, RoundKeys, AES_BLOCK_BYTES, vaes512::fill);
#[cfg(target_arch = "x86_64")]
fill!(aes256_vaes256, RoundKeys, AES_BLOCK_BYTES, vaes256::fill);
#[cfg(target_arch = "x86_64")]
fill!(aes256_ni, RoundKeys, AES_BLOCK_BYTES, aes_ni::fill);
#[cfg(target_arch = "x86_64")]
fill!(
    chacha20_on_avx512,
    CHACHA_BLOCK_BYTES,
    chacha20_avx512::fill
);
#[cfg(target_arch = "x86_64")]
fill!(
    seekable_chacha_on_avx512,
    CHACHA_BLOCK_BYTES,
    chacha20_avx512::fill_overlapped
);
/// Overwrites the start of a destination with floats of `FLOAT_BITS` bits, made of the words of the blocks from `first` on.
/// The low half of the counter must not wrap before the last block. Returns the bytes that it filled.
#[cfg(target_arch = "x86_64")]
pub(crate) fn chacha_floats_on_avx512<const ROUNDS: usize, const FLOAT_BITS: usize>(
    schedule: &Schedule,
    first: u128,
    destination: &mut [u8],
) -> usize {
    let Schedule::ChaCha20(key) = schedule else {
        wrong_schedule();
        return 0;
    };
    // SAFETY: `Keystream::new` asserted that the backend is available.
    unsafe { chacha20_avx512::fill_floats::<ROUNDS, FLOAT_BITS>(key, first, destination) }
}
#[cfg(target_arch = "x86_64")]
fill!(chacha20_on_avx2, CHACHA_BLOCK_BYTES, chacha20_avx2::fill);
#[cfg(target_arch = "x86_64")]
fill!(chacha20_on_sse2, CHACHA_BLOCK_BYTES, chacha20_sse2::fill);

pub(crate) fn aes256_portable(schedule: &Schedule, counter: &mut u128, destination: &mut [u8]) {
    match schedule {
        Schedule::Bitsliced(aes) => aes.fill(counter, destination),
        _ => wrong_schedule(),
    }
}

pub(crate) fn chacha20_portable<const ROUNDS: usize>(
    schedule: &Schedule,
    counter: &mut u128,
    destination: &mut [u8],
) {
    match schedule {
        Schedule::ChaCha20(key) => portable::fill_chacha20::<ROUNDS>(key, counter, destination),
        _ => wrong_schedule(),
    }
}
