//! The keystream of a key and a counter.

use crate::backend::Kind;
use crate::schedule::{self, Expansion, Schedule};
#[cfg(target_arch = "x86_64")]
use crate::x86::aes_schedule::RoundKeys;
use crate::{Backend, KEY_BYTES, chacha20_key::ChaCha20Key, stack};
use core::fmt;

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
        match backend.expansion() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the backend is available; all that work on round keys include AES-NI and SSSE3.
            Expansion::RoundKeys => unsafe { Self::with_round_keys(backend, key, counter) },
            Expansion::Bitsliced(expand) => {
                Self::from_schedule(backend, counter, || Schedule::Bitsliced(expand(key)))
            }
            Expansion::ChaCha20 => Self::from_schedule(backend, counter, || {
                Schedule::ChaCha20(ChaCha20Key::new(key))
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
    fn with_round_keys(backend: Backend, key: &[u8; KEY_BYTES], counter: u128) -> Self {
        let schedule = Schedule::RoundKeys(RoundKeys::expand(key));
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
        self.backend.fill()(&self.schedule, &mut self.counter, destination);
    }

    /// Overwrites `destination` with the blocks from `first_block` on, with `ROUNDS` rounds of
    /// ChaCha. The counter of this keystream does not change.
    pub(crate) fn fill_from<const ROUNDS: usize>(&self, first_block: u128, destination: &mut [u8]) {
        self.generate_from::<ROUNDS>(first_block, destination);
        stack::wipe_after_seekable_fill(self.backend, destination.len());
    }

    #[inline(never)]
    fn generate_from<const ROUNDS: usize>(&self, mut block: u128, destination: &mut [u8]) {
        let fill: schedule::Fill = match self.backend.kind() {
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Avx512 => schedule::seekable_chacha_on_avx512::<ROUNDS>,
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Avx2 => schedule::chacha20_on_avx2::<ROUNDS>,
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Sse2 => schedule::chacha20_on_sse2::<ROUNDS>,
            Kind::ChaCha20Portable => schedule::chacha20_portable::<ROUNDS>,
            // AES-256 has a fixed number of rounds.
            _ => self.backend.fill(),
        };
        fill(&self.schedule, &mut block, destination);
    }

    /// Overwrites the start of `destination` with floats of `FLOAT_BITS` bits, made of the words of the blocks from
    /// `first_block` on. Returns the bytes that it filled: 0 where the backend does not make floats.
    pub(crate) fn fill_floats_from<const ROUNDS: usize, const FLOAT_BITS: usize>(
        &self,
        first_block: u128,
        destination: &mut [u8],
    ) -> usize {
        let filled = self.floats_from::<ROUNDS, FLOAT_BITS>(first_block, destination);
        stack::wipe_after_seekable_fill(self.backend, filled);
        filled
    }

    #[inline(never)]
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(unused_variables, reason = "no backend makes floats")
    )]
    fn floats_from<const ROUNDS: usize, const FLOAT_BITS: usize>(
        &self,
        first_block: u128,
        destination: &mut [u8],
    ) -> usize {
        match self.backend.kind() {
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Avx512 => schedule::chacha_floats_on_avx512::<ROUNDS, FLOAT_BITS>(
                &self.schedule,
                first_block,
                destination,
            ),
            _ => 0,
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
