//! Random numbers that scale with the machine.
//!
//! ```
//! let mut key = [0u8; 32];
//! wellspring::fill(&mut key);
//! let ticket: u64 = wellspring::u64();
//! let nonce = wellspring::bytes::<12>();
//! let die = wellspring::range(1..=6);
//! # assert!((1..7).contains(&die));
//! # assert_ne!((key, ticket), ([0; 32], 0)); assert_ne!(nonce, [0; 12]);
//! ```
//!
//! Fortuna, bit-exact with FreeBSD's random(4), made concurrent: one generator for each NUMA node, one tap for each
//! thread. A small read takes bytes from the thread's tap, without a lock, a system call or a shared write. It costs
//! nanoseconds and is as safe as the operating system's generator:
//!
//! * **Backtracking resistance.** After a call returns, nothing in the process can recompute its output.
//! * **Fork.** A child process never repeats its parent, whatever system call made it. A child of fork(3) also gets a
//!   secret from the engine of its parent process, and is seeded by it if the system refuses it random bytes.
//! * **Nested contexts.** Signal handlers may draw. They never get the bytes of the read they interrupt. (The first use in a
//!   process allocates: make it outside a handler.)
//! * **Freshness.** The engine reseeds itself, and with it every tap. Every key of a tap takes the cycle counter in, and
//!   on Linux 6.11 and later fresh output of the system, so that clones of a machine diverge.
//!
//! SECURITY.md of the project lists all promises, and their limits.
//!
//! | for | use |
//! |---|---|
//! | keys, nonces | [`fill`], [`try_fill`], [`fill_uninit`], [`u32()`](fn@u32), [`u64()`](fn@u64), [`bytes`], [`random()`] |
//! | fair dice | [`below`], [`range`], [`f64()`](fn@f64), [`bool()`](fn@bool) |
//! | fair samples and orders | [`choose`], [`choose_multiple`], [`choose_weighted`], [`shuffle`] |
//! | UUIDs, ULIDs, trace ids, tokens and their text | [`ids`], [`alphanumeric`] |
//! | code that takes a rand_core generator | [`rng()`], a handle to the same |
//! | hot loops | [`LocalRng`], owned and `Send` |
//! | another mode, function or topology, your own sources | [`Engine::builder`] |
//! | numbers without secrecy | the crate `wellspring-pseudo-thread` |
//! | numbers that can be repeated | the crate `wellspring-pseudo` |
//! | clones of the machine, for all processes at once | [`clone_detection`] |
//! | seeds that outlive a reboot | [`seed_file`] |
//!
//! The generators implement the traits of [`rand_core`] 0.10 (rand 0.10), which this crate exports. The features
//! `rand_core_09` and `rand_core_06` add the traits of rand_core 0.9 and 0.6, for rand 0.9 and 0.8; both are off by
//! default and may be on together. The crate wellspring-getrandom makes the engine the backend of the crate getrandom.
//!
//! How many bytes a number takes, and in what order, may change with a version: for numbers that can be repeated there is
//! `wellspring_pseudo::Stream`.
//!
//! Linux 3.17 or later; macOS, Windows, FreeBSD and NetBSD with less. Before Linux 4.14 a child of a raw clone(2) may repeat a
//! buffer of its parent. SECURITY.md has both.

#![forbid(unsafe_code)]

pub mod clone_detection;
mod engine;
mod error;
mod fresh_entropy;
mod global;
pub mod ids;
#[doc(hidden)]
pub mod numbers;
mod rng;
pub mod seed_file;
mod topology_linux;

#[doc(hidden)]
pub use engine::Totals;
pub use engine::{
    Engine, EngineBuilder, Harvester, HarvesterStats, Mode, NodeStats, Phase, PoolStats,
    SourceStats, Stats, UnknownMode,
};
pub use error::Error;
pub use global::{
    bytes, diverge_from_clones, fill, fill_uninit, generation, reseed, start_harvester, stats,
    try_fill,
};
pub use numbers::Integer;
#[doc(hidden)]
pub use numbers::u64_from_words;
#[doc(no_inline)]
pub use rand_core;
pub use rng::{
    LocalRng, Random, ThreadRng, alphanumeric, below, bool, choose, choose_multiple,
    choose_weighted, f64, random, range, rng, shuffle, u16, u32, u64,
};
pub use topology_linux::cache_topology;
pub use wellspring_core::health::SourceHealth;
pub use wellspring_core::self_test::SelfTest;
pub use wellspring_core::source::{MinEntropy, Source, SourceError, Speed, Symbol};
pub use wellspring_core::topology::{Topology, TopologyError};
pub use wellspring_core::{Backend, Prf};
pub use wellspring_os::os_error::OsError;
pub use wellspring_os::trusted_file::FileFault;
