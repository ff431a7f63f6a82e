//! The implementations of the two functions, and the choice among them.

use crate::Prf;
use crate::portable;
use crate::schedule::{self, Expansion, Fill};
#[cfg(target_arch = "x86_64")]
use crate::x86::features::Features;
use core::fmt;
use core::hash::{Hash, Hasher};

/// An implementation of a [`Prf`]: one of the constants below.
///
/// The backends named after instructions exist on x86-64 only. A program is linked with the backends that it names, and
/// with those that a function of this type chooses from.
#[derive(Clone, Copy)]
pub struct Backend(&'static Implementation);

/// Equal for equal backends only; the compiler may give one of them several addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    #[cfg(target_arch = "x86_64")]
    Aes256Vaes512,
    #[cfg(target_arch = "x86_64")]
    Aes256Vaes256,
    #[cfg(target_arch = "x86_64")]
    Aes256Ni,
    Aes256Portable,
    #[cfg(target_arch = "x86_64")]
    ChaCha20Avx512,
    #[cfg(target_arch = "x86_64")]
    ChaCha20Avx2,
    #[cfg(target_arch = "x86_64")]
    ChaCha20Sse2,
    ChaCha20Portable,
}

struct Implementation {
    kind: Kind,
    expansion: Expansion,
    /// With 20 rounds for ChaCha.
    fill: Fill,
}

#[allow(
    non_upper_case_globals,
    reason = "they are used as the variants of an enum are"
)]
impl Backend {
    /// AES-256 on VAES and AVX-512 (F, BW, DQ, VL): 32 blocks in flight.
    #[cfg(target_arch = "x86_64")]
    pub const Aes256Vaes512: Backend = Backend(&Implementation {
        kind: Kind::Aes256Vaes512,
        expansion: Expansion::RoundKeys,
        fill: schedule::aes256_vaes512,
    });
    /// AES-256 on VAES and AVX2: 16 blocks in flight.
    #[cfg(target_arch = "x86_64")]
    pub const Aes256Vaes256: Backend = Backend(&Implementation {
        kind: Kind::Aes256Vaes256,
        expansion: Expansion::RoundKeys,
        fill: schedule::aes256_vaes256,
    });
    /// AES-256 on AES-NI: 8 blocks in flight.
    #[cfg(target_arch = "x86_64")]
    pub const Aes256Ni: Backend = Backend(&Implementation {
        kind: Kind::Aes256Ni,
        expansion: Expansion::RoundKeys,
        fill: schedule::aes256_ni,
    });
    /// AES-256 in plain Rust, bitsliced, on every machine, in constant time: 4 blocks at a time.
    pub const Aes256Portable: Backend = Backend(&Implementation {
        kind: Kind::Aes256Portable,
        expansion: Expansion::Bitsliced(portable::Aes256::new),
        fill: schedule::aes256_portable,
    });
    /// ChaCha20 on AVX-512 (F, BW, DQ, VL): 16 blocks at a time.
    #[cfg(target_arch = "x86_64")]
    pub const ChaCha20Avx512: Backend = Backend(&Implementation {
        kind: Kind::ChaCha20Avx512,
        expansion: Expansion::ChaCha20,
        fill: schedule::chacha20_on_avx512::<20>,
    });
    /// ChaCha20 on AVX2: 8 blocks at a time.
    #[cfg(target_arch = "x86_64")]
    pub const ChaCha20Avx2: Backend = Backend(&Implementation {
        kind: Kind::ChaCha20Avx2,
        expansion: Expansion::ChaCha20,
        fill: schedule::chacha20_on_avx2::<20>,
    });
    /// ChaCha20 on SSE2, which every x86-64 CPU has: 4 blocks at a time.
    #[cfg(target_arch = "x86_64")]
    pub const ChaCha20Sse2: Backend = Backend(&Implementation {
        kind: Kind::ChaCha20Sse2,
        expansion: Expansion::ChaCha20,
        fill: schedule::chacha20_on_sse2::<20>,
    });
    /// ChaCha20 in plain Rust, on every machine, in constant time: one block at a time.
    pub const ChaCha20Portable: Backend = Backend(&Implementation {
        kind: Kind::ChaCha20Portable,
        expansion: Expansion::ChaCha20,
        fill: schedule::chacha20_portable::<20>,
    });

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
        let of_prf = |backend: &&Backend| backend.prf() == prf;
        Self::first_available(Backend::ALL.iter().filter(of_prf))
    }

    /// The best backend for a program that asks for no function: AES-256 where the CPU has instructions for it, elsewhere
    /// ChaCha20, which is fast and constant in time without any.
    ///
    /// A CPU with AVX2 has instructions for AES too, unless a hypervisor hides them. So the backends of ChaCha20 for wider
    /// registers are not among the choices, and not in a program that calls this function alone.
    #[must_use]
    pub fn best() -> Backend {
        const CHOICES: &[Backend] = &[
            #[cfg(target_arch = "x86_64")]
            Backend::Aes256Vaes512,
            #[cfg(target_arch = "x86_64")]
            Backend::Aes256Vaes256,
            #[cfg(target_arch = "x86_64")]
            Backend::Aes256Ni,
            #[cfg(target_arch = "x86_64")]
            Backend::ChaCha20Sse2,
            // Miri runs no instructions of x86-64; every CPU of that kind has SSE2.
            #[cfg(any(miri, not(target_arch = "x86_64")))]
            Backend::ChaCha20Portable,
        ];
        Self::first_available(CHOICES.iter())
    }

    fn first_available<'a>(backends: impl Iterator<Item = &'a Backend>) -> Backend {
        let mut available = backends.filter(|backend| backend.is_available());
        let best = available.next();
        *best.expect("one is available everywhere")
    }

    /// The function this backend implements.
    #[must_use]
    pub const fn prf(self) -> Prf {
        match self.0.kind {
            #[cfg(target_arch = "x86_64")]
            Kind::Aes256Vaes512 | Kind::Aes256Vaes256 | Kind::Aes256Ni => Prf::Aes256,
            Kind::Aes256Portable => Prf::Aes256,
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Avx512 | Kind::ChaCha20Avx2 | Kind::ChaCha20Sse2 => Prf::ChaCha20,
            Kind::ChaCha20Portable => Prf::ChaCha20,
        }
    }

    /// The name in reports, `function-instructions`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0.kind {
            #[cfg(target_arch = "x86_64")]
            Kind::Aes256Vaes512 => "aes256-vaes512",
            #[cfg(target_arch = "x86_64")]
            Kind::Aes256Vaes256 => "aes256-vaes256",
            #[cfg(target_arch = "x86_64")]
            Kind::Aes256Ni => "aes256-ni",
            Kind::Aes256Portable => "aes256-portable",
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Avx512 => "chacha20-avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Avx2 => "chacha20-avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Sse2 => "chacha20-sse2",
            Kind::ChaCha20Portable => "chacha20-portable",
        }
    }

    /// Whether this CPU and its operating system run the backend's instructions.
    ///
    /// CPUID is asked once in a process; later answers cost one load.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let runs = |features| Features::of_this_machine().contain(features);
        match self.0.kind {
            #[cfg(target_arch = "x86_64")]
            Kind::Aes256Vaes512 => runs(Features::AES.and(Features::VAES).and(Features::AVX512)),
            #[cfg(target_arch = "x86_64")]
            Kind::Aes256Vaes256 => runs(Features::AES.and(Features::VAES).and(Features::AVX2)),
            #[cfg(target_arch = "x86_64")]
            Kind::Aes256Ni => runs(Features::AES),
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Avx512 => runs(Features::AVX512),
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Avx2 => runs(Features::AVX2),
            #[cfg(target_arch = "x86_64")]
            Kind::ChaCha20Sse2 => !cfg!(miri),
            Kind::Aes256Portable | Kind::ChaCha20Portable => true,
        }
    }

    pub(crate) fn kind(self) -> Kind {
        self.0.kind
    }

    pub(crate) fn expansion(self) -> Expansion {
        self.0.expansion
    }

    pub(crate) fn fill(self) -> Fill {
        self.0.fill
    }
}

impl PartialEq for Backend {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind()
    }
}

impl Eq for Backend {}

impl Hash for Backend {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind().hash(state);
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
