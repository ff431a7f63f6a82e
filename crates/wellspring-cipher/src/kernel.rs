//! One enum of implementations, one `detect`.

use crate::Prf;
#[cfg(target_arch = "x86_64")]
use crate::x86::features::Features;
use core::fmt;

/// An implementation of a [`Prf`].
///
/// The kernels named after instructions exist on x86-64 only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// AES-256 on VAES and AVX-512 (F, BW, VL): 32 blocks in flight.
    #[cfg(target_arch = "x86_64")]
    Aes256Vaes512,
    /// AES-256 on VAES and AVX2: 16 blocks in flight.
    #[cfg(target_arch = "x86_64")]
    Aes256Vaes256,
    /// AES-256 on AES-NI: 8 blocks in flight.
    #[cfg(target_arch = "x86_64")]
    Aes256Ni,
    /// AES-256 by RustCrypto's `aes`, on every machine, in constant time.
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
    /// ChaCha20 by RustCrypto's `chacha20`, on every machine, in constant time.
    ChaCha20Portable,
}

impl Kernel {
    /// Every kernel, the best of each function first.
    pub const ALL: &[Kernel] = &[
        #[cfg(target_arch = "x86_64")]
        Kernel::Aes256Vaes512,
        #[cfg(target_arch = "x86_64")]
        Kernel::Aes256Vaes256,
        #[cfg(target_arch = "x86_64")]
        Kernel::Aes256Ni,
        Kernel::Aes256Portable,
        #[cfg(target_arch = "x86_64")]
        Kernel::ChaCha20Avx512,
        #[cfg(target_arch = "x86_64")]
        Kernel::ChaCha20Avx2,
        #[cfg(target_arch = "x86_64")]
        Kernel::ChaCha20Sse2,
        Kernel::ChaCha20Portable,
    ];

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
            #[cfg(target_arch = "x86_64")]
            Kernel::Aes256Vaes512 | Kernel::Aes256Vaes256 | Kernel::Aes256Ni => Prf::Aes256,
            Kernel::Aes256Portable => Prf::Aes256,
            #[cfg(target_arch = "x86_64")]
            Kernel::ChaCha20Avx512 | Kernel::ChaCha20Avx2 | Kernel::ChaCha20Sse2 => Prf::ChaCha20,
            Kernel::ChaCha20Portable => Prf::ChaCha20,
        }
    }

    /// The name in reports, `function-instructions`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Aes256Vaes512 => "aes256-vaes512",
            #[cfg(target_arch = "x86_64")]
            Kernel::Aes256Vaes256 => "aes256-vaes256",
            #[cfg(target_arch = "x86_64")]
            Kernel::Aes256Ni => "aes256-ni",
            Kernel::Aes256Portable => "aes256-portable",
            #[cfg(target_arch = "x86_64")]
            Kernel::ChaCha20Avx512 => "chacha20-avx512",
            #[cfg(target_arch = "x86_64")]
            Kernel::ChaCha20Avx2 => "chacha20-avx2",
            #[cfg(target_arch = "x86_64")]
            Kernel::ChaCha20Sse2 => "chacha20-sse2",
            Kernel::ChaCha20Portable => "chacha20-portable",
        }
    }

    /// Whether this CPU and its operating system run the kernel's instructions.
    ///
    /// CPUID is asked once in a process; later answers cost one load.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let runs = |features| Features::of_this_machine().contain(features);
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Aes256Vaes512 => runs(Features::AES.and(Features::VAES).and(Features::AVX512)),
            #[cfg(target_arch = "x86_64")]
            Kernel::Aes256Vaes256 => runs(Features::AES.and(Features::VAES).and(Features::AVX2)),
            #[cfg(target_arch = "x86_64")]
            Kernel::Aes256Ni => runs(Features::AES),
            #[cfg(target_arch = "x86_64")]
            Kernel::ChaCha20Avx512 => runs(Features::AVX512),
            #[cfg(target_arch = "x86_64")]
            Kernel::ChaCha20Avx2 => runs(Features::AVX2),
            #[cfg(target_arch = "x86_64")]
            Kernel::ChaCha20Sse2 => true,
            Kernel::Aes256Portable | Kernel::ChaCha20Portable => true,
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
