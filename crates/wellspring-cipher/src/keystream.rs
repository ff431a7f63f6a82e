//! The keystream of a key and a counter.

#[cfg(target_arch = "x86_64")]
use crate::x86::{
    aes_ni, aes_schedule::RoundKeys, chacha20_avx2, chacha20_avx512, chacha20_sse2, vaes256,
    vaes512,
};
use crate::{Backend, KEY_BYTES, chacha20_key::ChaCha20Key, portable, stack};
#[cfg(target_arch = "x86_64")]
use crate::{Prf, runs::fill_in_runs};
use core::fmt;

#[cfg(target_arch = "x86_64")]
const AES_BLOCK_BYTES: usize = Prf::Aes256.block_bytes();
#[cfg(target_arch = "x86_64")]
const CHACHA_BLOCK_BYTES: usize = Prf::ChaCha20.block_bytes();

/// The keystream of one key, from a counter on.
///
/// Every [`fill`](Self::fill) starts with a new block. If the last block of a fill is needed in part only,
/// its other bytes are never used, and the counter steps over it, as in FreeBSD's random(4).
///
/// The key schedule is wiped on drop. After [`new`](Self::new) and after every `fill` the stack holds
/// no key, state or output; with the backends for x86-64 neither do the vector registers.
///
/// ```
/// use wellspring_cipher::{Backend, Keystream, Prf};
///
/// let backend = Backend::detect(Prf::ChaCha20);
/// let mut stream = Keystream::new(backend, &[7; 32], 0);
/// let mut bytes = [0; 100];
/// stream.fill(&mut bytes);
/// assert_eq!(stream.counter(), 2); // blocks of 64 bytes, the second one in part
/// ```
pub struct Keystream {
    backend: Backend,
    counter: u128,
    schedule: Schedule,
}

/// The key in the form that a backend needs.
#[allow(
    clippy::large_enum_variant,
    reason = "the owner chose and locked the memory of the key: it does not go behind a pointer"
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
    ChaCha20Avx512(ChaCha20Key),
    #[cfg(target_arch = "x86_64")]
    ChaCha20Avx2(ChaCha20Key),
    #[cfg(target_arch = "x86_64")]
    ChaCha20Sse2(ChaCha20Key),
    ChaCha20Portable(ChaCha20Key),
}

impl Schedule {
    /// Overwrites `destination` with the blocks from `counter` on and steps the counter. ChaCha runs
    /// `ROUNDS` rounds; AES-256 has a fixed number.
    #[inline(always)]
    fn fill<const ROUNDS: usize>(&self, counter: &mut u128, destination: &mut [u8]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Aes256Vaes512(keys) => {
                fill_in_runs(counter, AES_BLOCK_BYTES, destination, |first, run| {
                    // SAFETY: `Keystream::new` asserted that the backend is available.
                    unsafe { vaes512::fill(keys, first, run) }
                })
            }
            #[cfg(target_arch = "x86_64")]
            Self::Aes256Vaes256(keys) => {
                fill_in_runs(counter, AES_BLOCK_BYTES, destination, |first, run| {
                    // SAFETY: as above.
                    unsafe { vaes256::fill(keys, first, run) }
                })
            }
            #[cfg(target_arch = "x86_64")]
            Self::Aes256Ni(keys) => {
                fill_in_runs(counter, AES_BLOCK_BYTES, destination, |first, run| {
                    // SAFETY: as above.
                    unsafe { aes_ni::fill(keys, first, run) }
                })
            }
            Self::Aes256Portable(aes) => aes.fill(counter, destination),
            #[cfg(target_arch = "x86_64")]
            Self::ChaCha20Avx512(key) => {
                fill_in_runs(counter, CHACHA_BLOCK_BYTES, destination, |first, run| {
                    // SAFETY: as above.
                    unsafe { chacha20_avx512::fill::<ROUNDS>(key, first, run) }
                })
            }
            #[cfg(target_arch = "x86_64")]
            Self::ChaCha20Avx2(key) => {
                fill_in_runs(counter, CHACHA_BLOCK_BYTES, destination, |first, run| {
                    // SAFETY: as above.
                    unsafe { chacha20_avx2::fill::<ROUNDS>(key, first, run) }
                })
            }
            #[cfg(target_arch = "x86_64")]
            Self::ChaCha20Sse2(key) => {
                fill_in_runs(counter, CHACHA_BLOCK_BYTES, destination, |first, run| {
                    // SAFETY: as above.
                    unsafe { chacha20_sse2::fill::<ROUNDS>(key, first, run) }
                })
            }
            Self::ChaCha20Portable(key) => {
                portable::fill_chacha20::<ROUNDS>(key, counter, destination)
            }
        }
    }
}

impl Keystream {
    /// Sets up `key`. The first block is that of `counter`.
    ///
    /// # Panics
    ///
    /// When this CPU does not run `backend`; [`Backend::detect`] returns only backends that it runs.
    #[must_use]
    pub fn new(backend: Backend, key: &[u8; KEY_BYTES], counter: u128) -> Self {
        assert!(backend.is_available(), "this CPU does not run the backend");
        let _copies = stack::WipeAfterSetUp(backend);
        Self::set_up(backend, key, counter)
    }

    #[inline(never)]
    fn set_up(backend: Backend, key: &[u8; KEY_BYTES], counter: u128) -> Self {
        match backend {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the backend is available; it includes AES-NI and SSSE3.
            Backend::Aes256Vaes512 => unsafe {
                Self::with_round_keys(backend, key, counter, Schedule::Aes256Vaes512)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Backend::Aes256Vaes256 => unsafe {
                Self::with_round_keys(backend, key, counter, Schedule::Aes256Vaes256)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Backend::Aes256Ni => unsafe {
                Self::with_round_keys(backend, key, counter, Schedule::Aes256Ni)
            },
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Avx512 => Self::from_schedule(backend, counter, || {
                Schedule::ChaCha20Avx512(ChaCha20Key::new(key))
            }),
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Avx2 => Self::from_schedule(backend, counter, || {
                Schedule::ChaCha20Avx2(ChaCha20Key::new(key))
            }),
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Sse2 => Self::from_schedule(backend, counter, || {
                Schedule::ChaCha20Sse2(ChaCha20Key::new(key))
            }),
            Backend::Aes256Portable => Self::from_schedule(backend, counter, || {
                Schedule::Aes256Portable(portable::Aes256::new(key))
            }),
            Backend::ChaCha20Portable => Self::from_schedule(backend, counter, || {
                Schedule::ChaCha20Portable(ChaCha20Key::new(key))
            }),
        }
    }

    /// Compiled once for each schedule: a small schedule then takes little of the stack.
    #[inline(never)]
    fn from_schedule(backend: Backend, counter: u128, schedule: impl FnOnce() -> Schedule) -> Self {
        let schedule = schedule();
        Self {
            backend,
            counter,
            schedule,
        }
    }

    /// AES is enabled here, so that `expand` is inlined and the round keys go from registers to their place.
    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    #[target_feature(enable = "aes,ssse3")]
    fn with_round_keys(
        backend: Backend,
        key: &[u8; KEY_BYTES],
        counter: u128,
        schedule: impl FnOnce(RoundKeys) -> Schedule,
    ) -> Self {
        let schedule = schedule(RoundKeys::expand(key));
        Self {
            backend,
            counter,
            schedule,
        }
    }

    /// Overwrites `destination` with keystream. The counter steps by one for each block, also for a last
    /// block that is used in part.
    ///
    /// There is no limit of length: callers limit how much they take from one key.
    pub fn fill(&mut self, destination: &mut [u8]) {
        self.generate(destination);
        stack::wipe_after_fill(self.backend);
    }

    #[inline(never)]
    fn generate(&mut self, destination: &mut [u8]) {
        self.schedule.fill::<20>(&mut self.counter, destination);
    }

    /// Overwrites `destination` with the blocks from `first_block` on, with `ROUNDS` rounds of
    /// ChaCha. The counter of this keystream does not change.
    pub(crate) fn fill_from<const ROUNDS: usize>(&self, first_block: u128, destination: &mut [u8]) {
        self.generate_from::<ROUNDS>(first_block, destination);
        stack::wipe_after_fill(self.backend);
    }

    #[inline(never)]
    fn generate_from<const ROUNDS: usize>(&self, mut block: u128, destination: &mut [u8]) {
        self.schedule.fill::<ROUNDS>(&mut block, destination);
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
