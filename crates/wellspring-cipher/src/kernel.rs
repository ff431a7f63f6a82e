//! One enum of implementations, one `detect`.

use crate::Prf;
use core::fmt;

/// An implementation of a [`Prf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// AES-256 by RustCrypto's `aes`, on every machine, in constant time.
    Aes256Portable,
    /// ChaCha20 by RustCrypto's `chacha20`, on every machine, in constant time.
    ChaCha20Portable,
}

impl Kernel {
    /// Every kernel, the best of each function first.
    pub const ALL: &[Kernel] = &[Kernel::Aes256Portable, Kernel::ChaCha20Portable];

    /// The best kernel of `prf` that this CPU runs.
    #[must_use]
    pub fn detect(prf: Prf) -> Kernel {
        let best = Kernel::ALL
            .iter()
            .find(|kernel| kernel.prf() == prf && kernel.is_available());
        *best.expect("the portable kernels are available everywhere")
    }

    /// The function this kernel implements.
    #[must_use]
    pub const fn prf(self) -> Prf {
        match self {
            Kernel::Aes256Portable => Prf::Aes256,
            Kernel::ChaCha20Portable => Prf::ChaCha20,
        }
    }

    /// The name in reports, `function-instructions`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kernel::Aes256Portable => "aes256-portable",
            Kernel::ChaCha20Portable => "chacha20-portable",
        }
    }

    /// Whether this CPU and its operating system run the kernel's instructions.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Kernel::Aes256Portable | Kernel::ChaCha20Portable => true,
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
