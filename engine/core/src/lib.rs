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
//! | [`event`] | some noise on its way to one pool |
//! | [`queue`] | the bounded queue for what outsiders mix in, which never makes them wait |
//! | [`pool`] | the 32 pools of Fortuna's accumulator, and when a reseed is due |
//! | [`seed`] | a buffer for the material of one reseed, which is never copied |
//! | [`distribution`] | which node gets which seed |
//! | [`mailbox`] | hands a seed to a node without waiting for the node's lock |
//! | [`inlet`] | a node's mailbox and its remaining credit |
//! | [`generator`] | Fortuna's (K, C): reseed, canonical read, reservation for a concurrent read |
//! | [`node`] | a generator per NUMA node |
//! | [`tap`] | a thread's own key and buffer, under fast key erasure |
//! | [`topology`] | which CPUs belong to which node |
//! | [`seed_file`] | secrets that outlive a boot, and their credit |
//!
//! Secrets never move: keys, seeds and pools are written, hashed and wiped in place, since a value that moves
//! leaves copies on the stack. Every type in memory that a fork wipes has a constant `ZERO`, all bytes of
//! which are zero, so that wiped memory holds a value.
//!
//! Fortuna is bit-exact with FreeBSD's random(4) (`sys/dev/random/fortuna.c`), which follows
//! Ferguson, Schneier and Kohno, *Cryptography Engineering*, chapter 9 ("FS&K" below).

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod distribution;
pub mod event;
pub mod generator;
pub mod health;
pub mod inlet;
pub mod mailbox;
pub mod node;
pub mod pool;
pub mod queue;
pub mod seed;
pub mod seed_file;
pub mod source;
pub mod tap;
pub mod topology;

mod hash;
mod sync;
mod wipe;

pub use wellspring_cipher::{Backend, KEY_BYTES, Prf, sha256};
pub use wipe::wipe;
