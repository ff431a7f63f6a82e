//! The pipeline of wellspring, from a sample of noise to a tap:
//!
//! ```text
//! source -> health -> harvest -> pool -> generator -> node -> tap -> door
//! ```
//!
//! Everything here is logic: no system call, no clock, no thread, no `unsafe`. Time is an argument,
//! locks and memory belong to whoever calls. The modules, in the order in which data flows:
//!
//! | module | what it does |
//! |---|---|
//! | [`source`] | the contract of everything that yields noise |
//! | [`health`] | continuous tests of the samples, SP 800-90B section 4.4 |
//! | [`harvest`] | events, and the bounded queue that carries them and never blocks whoever feeds it |
//! | [`pool`] | the 32 pools of Fortuna's accumulator, and when a reseed is due |
//! | [`generator`] | Fortuna's (K, C): reseed, canonical read, concurrent claim |
//! | [`node`] | a generator per NUMA node, and how seeds are shared out among them |
//! | [`mailbox`] | how a seed reaches a node without anyone waiting |
//! | [`topology`] | which CPUs belong to which node |
//! | [`generation`] | the one number that tells every tap to take a fresh key |
//! | [`tap`] | a thread's own key and buffer, under fast key erasure |
//! | [`seed_file`] | what outlives a boot, and when it is worth anything |
//!
//! Fortuna is bit-exact with FreeBSD's random(4) (`sys/dev/random/fortuna.c`), which follows
//! Ferguson, Schneier and Kohno, *Cryptography Engineering*, chapter 9 ("FS&K" below).

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod generation;
pub mod generator;
pub mod harvest;
pub mod health;
pub mod mailbox;
pub mod node;
pub mod pool;
pub mod seed_file;
pub mod source;
pub mod tap;
pub mod topology;

mod hash;
mod sync;

pub use wellspring_cipher::{Backend, KEY_BYTES, Prf};
