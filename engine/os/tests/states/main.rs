//! The states of threads: who reads one, when, and what a fork, a handler or a sandbox leaves of it.
//!
//! ```text
//! current       the hot path: a state is read while it is current
//! soundness     safe programs that once read freed memory
//! fork          a fork in the middle of a read
//! steps         a handler, and a fork in it, at every instruction of a read
//! sandbox       no system call after the preparation
//! wipe_at_fork  the way of macOS, where no kernel wipes a child
//! ```

#[path = "../common/mod.rs"]
mod common;

mod current;
mod fork;
mod sandbox;
mod soundness;
#[cfg(target_arch = "x86_64")]
mod steps;
#[cfg(wellspring_test_at_fork)]
mod wipe_at_fork;
