//! Random numbers that scale with the machine.
//!
//! ```
//! let mut key = [0u8; 32];
//! wellspring::fill(&mut key);
//! let ticket: u64 = wellspring::u64();
//! let nonce = wellspring::bytes::<12>();
//! # assert_ne!((key, ticket), ([0; 32], 0)); assert_ne!(nonce, [0; 12]);
//! ```
//!
//! Fortuna, bit-exact with FreeBSD's random(4), made concurrent: one generator for each NUMA node, one tap for
//! each thread. A small read takes bytes from the thread's tap, without a lock, a system call or a shared
//! write; it costs nanoseconds and is as safe as the operating system's generator:
//!
//! * **Backtracking resistance.** After a call returns, nothing in the process can recompute what it returned.
//! * **Fork.** A child process never repeats its parent, whatever made it.
//! * **Nested contexts.** Signal handlers may draw. They never get the bytes of the read they interrupt. (The
//!   first use in a process allocates; let it not be in a handler.)
//! * **Freshness.** The engine reseeds itself, every tap with it; and where the system has a cheap way (Linux
//!   6.11) its output is mixed into every key, so that clones of a machine part.
//!
//! What is promised and what is not, in full: SECURITY.md of the project.
//!
//! | for | there is |
//! |---|---|
//! | keys, nonces, tokens | [`fill`], [`try_fill`], [`u32()`](fn@u32), [`u64()`](fn@u64), [`bytes`] |
//! | code that takes a rand_core generator | [`rng()`], a handle to the same |
//! | hot loops | [`LocalRng`], owned and `Send` |
//! | another mode, function, topology, sources of one's own | [`Engine::builder`] |
//! | numbers without secrecy; numbers that come again | [`pseudo`] |
//! | clones of the machine, for all processes at once | [`generation_page`] |
//! | seeds that outlive a reboot | [`seed_file`] |
//! | known answers | [`replay`] |
//!
//! Linux 4.14 or later.

#![forbid(unsafe_code)]

mod copies;
mod engine;
mod error;
pub mod generation_page;
mod machine;
mod mode;
mod noise;
mod process;
pub mod pseudo;
pub mod replay;
mod rng;
pub mod seed_file;

pub use copies::{CloneEvent, CloneEvents};
pub use engine::{
    Engine, EngineBuilder, Harvester, HarvesterStats, NodeStats, Phase, SourceStats, Stats,
};
pub use error::Error;
pub use mode::{Mode, UnknownMode};
pub use rng::{LocalRng, ThreadRng};
pub use wellspring_core::health::SourceHealth;
pub use wellspring_core::source::{MinEntropy, Source, SourceError, Speed, Symbol};
pub use wellspring_core::topology::{Topology, TopologyError};
pub use wellspring_core::{Backend, Prf};

impl Engine {
    /// The engine of the process, which the functions of the crate's root read from.
    ///
    /// # Panics
    ///
    /// When the system has no memory that a child process would find wiped; so do all functions that read
    /// from it.
    #[must_use]
    pub fn process() -> &'static Engine {
        process::engine()
    }
}

/// Fills `destination`, of any length, with random bytes fit for keys. Waits for the first seed, if need be,
/// as early in a machine's boot as that may be.
#[inline]
pub fn fill(destination: &mut [u8]) {
    process::engine().fill(destination);
}

/// Fills `destination`, of any length, without waiting for the first seed.
///
/// # Errors
///
/// [`Error::NotSeeded`]; `destination` is then untouched.
#[inline]
pub fn try_fill(destination: &mut [u8]) -> Result<(), Error> {
    process::engine().try_fill(destination)
}

/// 32 random bits, as good as [`fill`]'s.
#[must_use]
#[inline]
pub fn u32() -> u32 {
    process::engine().u32()
}

/// 64 random bits, as good as [`fill`]'s.
#[must_use]
#[inline]
pub fn u64() -> u64 {
    process::engine().u64()
}

/// `N` random bytes, as good as [`fill`]'s.
#[must_use]
#[inline]
pub fn bytes<const N: usize>() -> [u8; N] {
    process::engine().bytes()
}

/// A handle with rand_core's traits that reads as [`fill`] does.
///
/// ```
/// use rand_core::Rng as _;
/// let mut rng = wellspring::rng();
/// assert_ne!(rng.next_u64(), rng.next_u64());
/// ```
#[must_use]
#[inline]
pub fn rng() -> ThreadRng {
    ThreadRng
}

/// Moves every tap of the process's engine to a fresh key: see [`Engine::reseed`].
///
/// # Errors
///
/// [`Error::NotSeeded`] when the sources yielded nothing to reseed with.
pub fn reseed() -> Result<u64, Error> {
    process::engine().reseed()
}

/// Starts a [harvester](EngineBuilder::harvester) for the process's engine, which lasts as long as the process; has no
/// effect while one is at work.
///
/// For programs, not for libraries: whether there shall be a thread more is the program's to say, and without one
/// the engine keeps itself fresh on its readers' calls. A child process made by `fork` has none until it starts its own.
///
/// # Errors
///
/// [`Error::Thread`] when the system has no thread for it.
pub fn start_harvester(harvester: Harvester) -> Result<(), Error> {
    process::engine().start_harvester(harvester)
}

/// Parts the process's engine from all copies of it: see [`Engine::diverge_from_clones`].
pub fn diverge_from_clones() -> u64 {
    process::engine().diverge_from_clones()
}

/// The generation of the process's engine: 1 at first, one more with every reseed.
#[must_use]
pub fn generation() -> u64 {
    process::engine().generation()
}

/// What can be said of the process's engine without a secret.
#[must_use]
pub fn stats() -> Stats {
    process::engine().stats()
}
