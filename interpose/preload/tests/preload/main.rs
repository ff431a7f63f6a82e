//! The library in programs: installed ones, and C programs of its own.
//!
//! ```text
//! common       runs programs with the library preloaded
//! programs     installed programs draw on it
//! devices      programs that read /dev/random get the service's file
//! rand_bytes   RAND_bytes goes on to the caller's OpenSSL, or draws on request
//! semantics    flags, lengths, pointers, errno, contexts: the answers of the originals
//! clone_guard  the C library's generators in a copied process
//! torture      forks, timers, cancelled threads, tight limits, sanitizers
//! faults       a system call of the first read fails
//! sandbox      programs that enter a seccomp sandbox
//! stack        the first read on a small signal stack
//! ```

mod clone_guard;
mod common;
mod devices;
mod faults;
mod programs;
mod rand_bytes;
mod sandbox;
mod semantics;
mod stack;
mod torture;
