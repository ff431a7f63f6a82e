//! The implementations of the two functions, and the choice among them.

use crate::Prf;
#[cfg(target_arch = "x86_64")]
use crate::x86::features::Features;
use core::fmt;

/// An implementation of a [`Prf`].
///
/// The backends named after instructions exist on x86-64 only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// AES-256 on VAES and AVX-512 (F, BW, VL): 32 blocks in flight.
    #[cfg(target_arch = "x86_64")]
    Aes256Vaes512,
    /// AES-256 on VAES and AVX2: 16 blocks in flight.
    #[cfg(target_arch = "x86_64")]
    Aes256Vaes256,
    /// AES-256 on AES-NI: 8 blocks in flight.
    #[cfg(target_arch = "x86_64")]
    Aes256Ni,
    /// AES-256 in plain Rust, bitsliced, on every machine, in constant time: 4 blocks at a time.
    Aes256Portable,
    /// ChaCha20 on AVX-512 (F, BW): 16 blocks at a time.
    #[cfg(target_arch = "x86_64")]
    ChaCha20Avx512,
    /// ChaCha20 on AVX2: 8 blocks at a time.
    #[cfg(target_arch = "x86_64")]
    ChaCha20Avx2,
    /// ChaCha20 on SSE2, which every x86-64 CPU has: 4 blocks at a time.
    #[cfg(target_arch = "x86_64")]
    ChaCha20Sse2,
    /// ChaCha20 in plain Rust, on every machine, in constant time: one block at a time.
    ChaCha20Portable,
}

impl Backend {
    /// Every backend, the best of each function first.
    pub const ALL: &[Backend] = &[
        #[cfg(target_arch = "x86_64")]
        Backend::Aes256Vaes512,
        #[cfg(target_arch = "x86_64")]
        Backend::Aes256Vaes256,
        #[cfg(target_arch = "x86_64")]
        Backend::Aes256Ni,
        Backend::Aes256Portable,
        #[cfg(target_arch = "x86_64")]
        Backend::ChaCha20Avx512,
        #[cfg(target_arch = "x86_64")]
        Backend::ChaCha20Avx2,
        #[cfg(target_arch = "x86_64")]
        Backend::ChaCha20Sse2,
        Backend::ChaCha20Portable,
    ];

    /// The best backend of `prf` that this CPU runs.
    #[must_use]
    pub fn detect(prf: Prf) -> Backend {
        let best = Backend::ALL
            .iter()
            .find(|backend| backend.prf() == prf && backend.is_available());
        *best.expect("the portable backends are available everywhere")
    }

    /// The function this backend implements.
    #[must_use]
    pub const fn prf(self) -> Prf {
        match self {
            #[cfg(target_arch = "x86_64")]
            Backend::Aes256Vaes512 | Backend::Aes256Vaes256 | Backend::Aes256Ni => Prf::Aes256,
            Backend::Aes256Portable => Prf::Aes256,
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Avx512 | Backend::ChaCha20Avx2 | Backend::ChaCha20Sse2 => {
                Prf::ChaCha20
            }
            Backend::ChaCha20Portable => Prf::ChaCha20,
        }
    }

    /// The name in reports, `function-instructions`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Backend::Aes256Vaes512 => "aes256-vaes512",
            #[cfg(target_arch = "x86_64")]
            Backend::Aes256Vaes256 => "aes256-vaes256",
            #[cfg(target_arch = "x86_64")]
            Backend::Aes256Ni => "aes256-ni",
            Backend::Aes256Portable => "aes256-portable",
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Avx512 => "chacha20-avx512",
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Avx2 => "chacha20-avx2",
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Sse2 => "chacha20-sse2",
            Backend::ChaCha20Portable => "chacha20-portable",
        }
    }

    /// Whether this CPU and its operating system run the backend's instructions.
    ///
    /// CPUID is asked once in a process; later answers cost one load.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let runs = |features| Features::of_this_machine().contain(features);
        match self {
            #[cfg(target_arch = "x86_64")]
            Backend::Aes256Vaes512 => runs(Features::AES.and(Features::VAES).and(Features::AVX512)),
            #[cfg(target_arch = "x86_64")]
            Backend::Aes256Vaes256 => runs(Features::AES.and(Features::VAES).and(Features::AVX2)),
            #[cfg(target_arch = "x86_64")]
            Backend::Aes256Ni => runs(Features::AES),
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Avx512 => runs(Features::AVX512),
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Avx2 => runs(Features::AVX2),
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Sse2 => !cfg!(miri),
            Backend::Aes256Portable | Backend::ChaCha20Portable => true,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
