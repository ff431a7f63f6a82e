//! Functions that the tests of taps share.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test file uses its part of this"
)]

// musl has no contexts.
#[cfg(all(target_arch = "x86_64", not(target_env = "musl")))]
pub(crate) mod abandon;
pub(crate) mod door;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod faults;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod tracer;
pub(crate) mod windows;

#[cfg(target_arch = "x86_64")]
pub(crate) use testkit::stepping;
pub(crate) use testkit::{filter, memory as wanted, process, repeats, skipped, timer};
