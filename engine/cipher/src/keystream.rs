//! The keystream of a key and a counter.

use crate::runs::fill_in_runs;
use crate::schedule::Schedule;
use crate::{Backend, KEY_BYTES, Prf, stack};
use core::fmt;

/// The rounds of ChaCha20.
const ROUNDS: usize = 20;

/// The keystream of one key, from a counter on.
///
/// Every [`fill`](Self::fill) starts with a new block. If the last block of a fill is needed in part only,
/// its other bytes are never used, and the counter steps over it, as in FreeBSD's random(4).
///
/// The key schedule is wiped on drop. After [`new`](Self::new) and after every `fill` the stack holds
/// no key, state or output; with the backends for x86-64 and arm64 neither do the vector registers.
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
    /// Sets up `key`. The first block is the output for `counter`.
    ///
    /// # Panics
    ///
    /// When this CPU does not run `backend`; [`Backend::detect`] returns only backends that it runs.
    #[must_use]
    pub fn new(backend: Backend, key: &[u8; KEY_BYTES], counter: u128) -> Self {
        assert!(backend.is_available(), "this CPU does not run the backend");
        let _copies = stack::EraseAfterSetUp(backend.0.expand_stack_bytes);
        Self::set_up(backend, key, counter)
    }

    #[inline(never)]
    fn set_up(backend: Backend, key: &[u8; KEY_BYTES], counter: u128) -> Self {
        // SAFETY: `new` has asserted that the backend is available.
        let schedule = unsafe { (backend.0.expand)(key) };
        Self {
            backend,
            counter,
            schedule,
        }
    }

    /// Overwrites `destination` with keystream. The counter steps by one for each block, even for a last
    /// block that is used in part.
    ///
    /// There is no limit of length: callers limit how much they take from one key.
    pub fn fill(&mut self, destination: &mut [u8]) {
        self.counter = self.generate(ROUNDS, self.counter, destination);
    }

    /// Overwrites `destination` with the blocks from number `first` on, the last of them in part. Block 0 follows block
    /// 2^128 - 1. The counter of this keystream does not change.
    ///
    /// ChaCha has `rounds` rounds: 20, or 8 or 12 for numbers that are not secret. AES-256 takes no notice of the number.
    #[doc(hidden)]
    pub fn fill_at(&self, rounds: usize, first: u128, destination: &mut [u8]) {
        assert!(matches!(rounds, 8 | 12 | 20), "ChaCha has other rounds");
        self.generate(rounds, first, destination);
    }

    /// Returns the number of the next block.
    #[inline]
    fn generate(&self, rounds: usize, first: u128, destination: &mut [u8]) -> u128 {
        const AES_BLOCK_BYTES: usize = Prf::Aes256.block_bytes();
        const CHACHA_BLOCK_BYTES: usize = Prf::ChaCha20.block_bytes();
        let implementation = self.backend.0;
        let fill = |first, run: &mut [u8]| {
            // SAFETY: `new` has asserted that the backend is available.
            unsafe { (implementation.fill)(&self.schedule, rounds, first, run) }
        };
        let next = match implementation.prf {
            Prf::Aes256 => fill_in_runs::<AES_BLOCK_BYTES>(first, destination, fill),
            Prf::ChaCha20 => fill_in_runs::<CHACHA_BLOCK_BYTES>(first, destination, fill),
        };
        stack::erase_stack_of(implementation.fill_stack_bytes);
        next
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
