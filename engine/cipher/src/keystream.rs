//! The keystream of a key and a counter.

use crate::backend::Schedule;
use crate::{Backend, KEY_BYTES, Prf, machine};
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
        let _copies = machine::EraseAfterSetUp(backend.0.expand_stack_bytes);
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
        machine::erase_stack_of(implementation.fill_stack_bytes);
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

// The carry from the low word of the counter to the words above it, for all backends.

/// Fills `destination` in runs within which the low 32 bits of the counter do not wrap.
///
/// `fill` gets the counter of the first block of its run. In every lane that it stores it may step the
/// low word alone: the one wrap in 2^32 blocks always falls between two runs. Lanes past the end of
/// a run may wrap; they must not be stored.
///
/// Every run but the last consists of whole blocks. Returns the counter of the next block.
#[inline]
pub(crate) fn fill_in_runs<const BLOCK_BYTES: usize>(
    first: u128,
    destination: &mut [u8],
    mut fill: impl FnMut(u128, &mut [u8]),
) -> u128 {
    let (mut first, mut rest) = (first, destination);
    while !rest.is_empty() {
        let until_wrap = (1 << 32) - u64::from(first as u32);
        let bytes = (until_wrap * BLOCK_BYTES as u64).min(rest.len() as u64);
        let (run, after) = rest.split_at_mut(bytes as usize);
        fill(first, run);
        first = first.wrapping_add(bytes.div_ceil(BLOCK_BYTES as u64).into());
        rest = after;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::fill_in_runs;
    use std::vec::Vec;

    extern crate std;

    fn runs(first: u128, bytes: usize) -> (Vec<(u128, usize)>, u128) {
        let mut runs = Vec::new();
        let mut destination = [0; 400];
        let next = fill_in_runs::<16>(first, &mut destination[..bytes], |first, run| {
            runs.push((first, run.len()));
        });
        (runs, next)
    }

    #[test]
    fn a_run_ends_where_the_low_word_wraps() {
        let wrap = 7u128 << 32;
        assert_eq!(
            runs(wrap - 2, 50),
            ([(wrap - 2, 32), (wrap, 18)].to_vec(), wrap + 2)
        );
        assert_eq!(runs(wrap - 2, 32), ([(wrap - 2, 32)].to_vec(), wrap));
        assert_eq!(runs(wrap, 50), ([(wrap, 50)].to_vec(), wrap + 4));
        assert_eq!(runs(wrap + 1, 50), ([(wrap + 1, 50)].to_vec(), wrap + 5));
    }

    #[test]
    fn zero_follows_the_largest_counter() {
        assert_eq!(runs(u128::MAX, 17), ([(u128::MAX, 16), (0, 1)].to_vec(), 1));
    }

    #[test]
    fn nothing_is_filled_for_no_bytes() {
        assert_eq!(runs(3, 0), (Vec::new(), 3));
    }
}
