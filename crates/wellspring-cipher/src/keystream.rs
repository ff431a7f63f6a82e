//! A key and a counter at work.

use crate::{KEY_BYTES, Kernel, portable};
use core::fmt;

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
    Aes256Portable(portable::Aes256),
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
            Kernel::Aes256Portable => Schedule::Aes256Portable(portable::Aes256::new(key)),
            Kernel::ChaCha20Portable => Schedule::ChaCha20Portable(portable::ChaCha20::new(key)),
        };
        Self { counter, schedule }
    }

    /// Overwrites `destination` with keystream and steps the counter by the blocks that took.
    ///
    /// There is no limit of length here; the limits of use are Fortuna's and the taps' to keep.
    pub fn fill(&mut self, destination: &mut [u8]) {
        match &self.schedule {
            Schedule::Aes256Portable(aes) => aes.fill(&mut self.counter, destination),
            Schedule::ChaCha20Portable(chacha) => chacha.fill(&mut self.counter, destination),
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
