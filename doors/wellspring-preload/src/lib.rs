//! A library for LD_PRELOAD: programs that are there already draw on wellspring.
//!
//! ```text
//! getrandom   getrandom, getentropy
//! arc4random  arc4random, arc4random_buf, arc4random_uniform
//! files       open and its family: /dev/random and /dev/urandom, where the service has files
//! seccomp     prctl, syscall: prepares for a sandbox that the program enters
//!
//! writable    which part of a caller's buffer may be written
//! system      the system call that stands behind all of this, and errno
//! next        the functions that ours stand before
//! report      counts for `wellspring run --report`
//! start       what the loader calls before main
//! heap        memory that does not come from malloc
//! ```
//!
//! # What must hold at every line
//!
//! A program may call these functions before any constructor has run, in a signal handler, in a child after fork, and
//! with malloc's lock held. So nothing here calls malloc, getenv or stdio: [`heap`] is the allocator of this library,
//! and the environment is read from what the loader passes to [`start`]. Whatever we cannot serve, the kernel
//! serves, with its own answer: an unknown flag, a bad pointer, an engine without memory or seed.
//!
//! RAND_bytes of OpenSSL is not here: a program that loads its OpenSSL for itself alone, as Python does, would reach our
//! function and we would not find OpenSSL's behind it. The provider is the door for OpenSSL.

mod arc4random;
mod files;
mod getrandom;
mod heap;
mod next;
mod report;
mod seccomp;
mod start;
mod system;
mod writable;

pub use arc4random::{arc4random, arc4random_buf, arc4random_uniform};
pub use files::*;
pub use getrandom::{getentropy, getrandom};
pub use seccomp::{prctl, syscall};
