//! A library for LD_PRELOAD, by which existing programs draw their random bytes from wellspring.
//!
//! ```text
//! getrandom   getrandom, getentropy
//! arc4random  arc4random, arc4random_buf, arc4random_uniform
//! files       open and its family: /dev/random and /dev/urandom, where the service has files
//! rand_bytes  RAND_bytes and RAND_priv_bytes of OpenSSL, on request
//! clone_guard gives rand(3) and its kin, on request, and Node's OpenSSL new state when the machine was cloned
//! seccomp     prctl, syscall: prepares for a sandbox that the program enters
//!
//! engine      the engine of the process, and errno around its reads
//! vfork       a child that uses its parent's memory
//! writable    the length of a caller's buffer that may be written
//! system      system calls, and errno
//! next        the original functions that ours replace
//! start       runs before main: reads the environment, finds the original functions
//! heap        an allocator that does not use malloc
//! ```
//!
//! # Rules for every line
//!
//! A program may call these functions before any constructor has run, in a signal handler, in a child after fork, and
//! with malloc's lock held. So nothing here calls malloc, getenv or stdio: `heap` is the allocator of this library,
//! and `start` reads the environment that the loader passes to it. A call that we cannot serve goes to the kernel,
//! whose result the program gets: an unknown flag, a bad pointer, an engine without memory or seed. No thread is started.

mod arc4random;
mod clone_guard;
mod engine;
mod files;
mod getrandom;
mod heap;
mod next;
mod rand_bytes;
mod seccomp;
mod start;
mod system;
mod vfork;
mod writable;

pub use arc4random::{arc4random, arc4random_buf, arc4random_uniform};
pub use clone_guard::*;
pub use files::*;
pub use getrandom::{getentropy, getrandom};
pub use rand_bytes::{RAND_bytes, RAND_priv_bytes};
pub use seccomp::{prctl, syscall};
