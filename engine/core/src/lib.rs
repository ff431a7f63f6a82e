//! The pipeline of wellspring, from a sample of noise to a tap:
//!
//! ```text
//! source -> health -> pool -> seed -> mailbox -> generator of a node -> tap -> door
//! mix -> queue -> pool
//! ```
//!
//! Everything here is logic: no system call, no clock, no thread, no `unsafe`. Time is an argument; the
//! caller owns locks and memory. The modules, in the order in which data flows:
//!
//! | module | what it does |
//! |---|---|
//! | [`source`] | the contract of everything that yields noise |
//! | [`health`] | start-up and continuous tests of the samples, SP 800-90B sections 4.3 and 4.4 |
//! | [`pool`] | events and the queue for mixed data, and the 32 pools of Fortuna's accumulator |
//! | [`distribution`] | which node gets which seed |
//! | [`node`] | a generator for each NUMA node, and the mailbox by which it gets its seeds without waiting |
//! | [`generator`] | Fortuna's (K, C) |
//! | [`tap`] | a thread's own key and buffer, under fast key erasure |
//! | [`topology`] | which CPUs belong to which node |
//! | [`seed_file`] | secrets that outlive a boot, and their credit |
//! | [`self_test`] | known answers of hash, keystream and generator; noise that the health tests must refuse |
//!
//! Secrets never move: keys, seeds and pools are written, hashed and wiped in place, since a value that moves
//! leaves copies on the stack. Every type in memory that a fork wipes has a constant `ZERO`, all bytes zero,
//! so that wiped memory holds a value.
//!
//! Fortuna is bit-exact with FreeBSD's random(4) (`sys/dev/random/fortuna.c`), which follows
//! Ferguson, Schneier and Kohno, *Cryptography Engineering*, chapter 9 ("FS&K" below).

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod distribution;
pub mod generator;
pub mod health;
pub mod node;
pub mod pool;
pub mod seed_file;
pub mod self_test;
pub mod source;
pub mod tap;
pub mod topology;

pub use wellspring_cipher::{Backend, KEY_BYTES, Prf, sha256, wipe};

mod sync {
    //! The atomics of the lock-free parts: the real ones, or loom's in a model check.
    //!
    //! Not every processor has atomics of 64 bits (32-bit Arm before version 6K, MIPS and PowerPC have none). Therefore
    //! words that only carry data are `usize`.

    #[cfg(not(loom))]
    pub(crate) use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

    #[cfg(loom)]
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

    /// The bytes of a word that carries data: 8, or 4 on 32-bit targets.
    pub(crate) const WORD_BYTES: usize = size_of::<usize>();
}
