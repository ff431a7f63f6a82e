//! Children of a raw clone(2): a lock of malloc(3) that another thread held would stay locked there, so no test makes one while
//! another test runs.
//!
//! ```text
//! steps         a handler, and a fork in it, at every instruction of a read
//! wipe_at_fork  the way of macOS, where no kernel wipes a child
//! ```

#![cfg(any(target_arch = "x86_64", wellspring_test_at_fork))]

#[path = "../common/mod.rs"]
mod common;

#[cfg(target_arch = "x86_64")]
mod steps;
#[cfg(wellspring_test_at_fork)]
mod wipe_at_fork;

use std::sync::Mutex;

/// The lock of the thread that makes a child.
static ALONE: Mutex<()> = Mutex::new(());
