//! A key and a counter at work.

#[cfg(target_arch = "x86_64")]
use crate::x86::{
    aes_ni, aes_schedule::RoundKeys, chacha20_avx2, chacha20_avx512, chacha20_sse2, vaes256,
    vaes512,
};
use crate::{KEY_BYTES, Kernel, portable, runs::fill_in_runs};
use core::fmt;
#[cfg(target_arch = "x86_64")]
use zeroize::Zeroizing;

/// The keystream of one key from one counter on.
///
/// Every [`fill`](Self::fill) starts on a block boundary: the rest of a partly used block is thrown
/// away and costs its whole counter step, which is what FreeBSD's random(4) does. The key schedule
/// is wiped on drop.
pub struct Keystream {
    counter: u128,
    schedule: Schedule,
}

/// What a kernel makes of a key.
#[allow(
    clippy::large_enum_variant,
    reason = "keys belong in the place their owner chose and locked, not behind a pointer"
)]
enum Schedule {
    #[cfg(target_arch = "x86_64")]
    Aes256Vaes512(RoundKeys),
    #[cfg(target_arch = "x86_64")]
    Aes256Vaes256(RoundKeys),
    #[cfg(target_arch = "x86_64")]
    Aes256Ni(RoundKeys),
    Aes256Portable(portable::Aes256),
    #[cfg(target_arch = "x86_64")]
    ChaCha20Avx512(Zeroizing<[u8; KEY_BYTES]>),
    #[cfg(target_arch = "x86_64")]
    ChaCha20Avx2(Zeroizing<[u8; KEY_BYTES]>),
    #[cfg(target_arch = "x86_64")]
    ChaCha20Sse2(Zeroizing<[u8; KEY_BYTES]>),
    ChaCha20Portable(portable::ChaCha20),
}

impl Keystream {
    /// Sets up `key`, to go on from `counter`.
    ///
    /// # Panics
    ///
    /// When this CPU does not run `kernel`; [`Kernel::detect`] returns only kernels that it runs.
    #[must_use]
    pub fn new(kernel: Kernel, key: &[u8; KEY_BYTES], counter: u128) -> Self {
        assert!(kernel.is_available(), "this CPU does not run the kernel");
        let schedule = match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Aes256Vaes512 => Schedule::Aes256Vaes512(RoundKeys::unset()),
            #[cfg(target_arch = "x86_64")]
            Kernel::Aes256Vaes256 => Schedule::Aes256Vaes256(RoundKeys::unset()),
            #[cfg(target_arch = "x86_64")]
            Kernel::Aes256Ni => Schedule::Aes256Ni(RoundKeys::unset()),
            Kernel::Aes256Portable => Schedule::Aes256Portable(portable::Aes256::new(key)),
            #[cfg(target_arch = "x86_64")]
            Kernel::ChaCha20Avx512 => Schedule::ChaCha20Avx512(Zeroizing::new(*key)),
            #[cfg(target_arch = "x86_64")]
            Kernel::ChaCha20Avx2 => Schedule::ChaCha20Avx2(Zeroizing::new(*key)),
            #[cfg(target_arch = "x86_64")]
            Kernel::ChaCha20Sse2 => Schedule::ChaCha20Sse2(Zeroizing::new(*key)),
            Kernel::ChaCha20Portable => Schedule::ChaCha20Portable(portable::ChaCha20::new(key)),
        };
        let mut keystream = Self { counter, schedule };
        match &mut keystream.schedule {
            #[cfg(target_arch = "x86_64")]
            Schedule::Aes256Vaes512(keys)
            | Schedule::Aes256Vaes256(keys)
            | Schedule::Aes256Ni(keys) => {
                // SAFETY: the kernel is available; each of the three includes AES-NI and SSSE3.
                unsafe { keys.expand(key) }
            }
            _ => {}
        }
        keystream
    }

    /// Overwrites `destination` with keystream and steps the counter by the blocks that took.
    ///
    /// There is no limit of length here; the limits of use are Fortuna's and the taps' to keep.
    pub fn fill(&mut self, destination: &mut [u8]) {
        let counter = &mut self.counter;
        match &self.schedule {
            #[cfg(target_arch = "x86_64")]
            Schedule::Aes256Vaes512(keys) => {
                fill_in_runs(counter, 16, destination, |first, run| {
                    // SAFETY: `new` has seen the kernel available.
                    unsafe { vaes512::fill(keys, first, run) }
                })
            }
            #[cfg(target_arch = "x86_64")]
            Schedule::Aes256Vaes256(keys) => {
                fill_in_runs(counter, 16, destination, |first, run| {
                    // SAFETY: as above.
                    unsafe { vaes256::fill(keys, first, run) }
                })
            }
            #[cfg(target_arch = "x86_64")]
            Schedule::Aes256Ni(keys) => fill_in_runs(counter, 16, destination, |first, run| {
                // SAFETY: as above.
                unsafe { aes_ni::fill(keys, first, run) }
            }),
            Schedule::Aes256Portable(aes) => aes.fill(counter, destination),
            #[cfg(target_arch = "x86_64")]
            Schedule::ChaCha20Avx512(key) => {
                fill_in_runs(counter, 64, destination, |first, run| {
                    // SAFETY: as above.
                    unsafe { chacha20_avx512::fill(key, first, run) }
                })
            }
            #[cfg(target_arch = "x86_64")]
            Schedule::ChaCha20Avx2(key) => fill_in_runs(counter, 64, destination, |first, run| {
                // SAFETY: as above.
                unsafe { chacha20_avx2::fill(key, first, run) }
            }),
            #[cfg(target_arch = "x86_64")]
            Schedule::ChaCha20Sse2(key) => fill_in_runs(counter, 64, destination, |first, run| {
                // SAFETY: as above.
                unsafe { chacha20_sse2::fill(key, first, run) }
            }),
            Schedule::ChaCha20Portable(chacha) => chacha.fill(counter, destination),
        }
    }

    /// The counter of the next block.
    #[must_use]
    pub fn counter(&self) -> u128 {
        self.counter
    }
}

impl fmt::Debug for Keystream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keystream").finish_non_exhaustive()
    }
}
