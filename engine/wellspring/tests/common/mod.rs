//! Functions that the tests of taps share.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test file uses its part of this"
)]

// musl has no contexts.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(target_env = "musl")))]
pub(crate) mod abandon;
pub(crate) mod door;
pub(crate) mod rows;
pub(crate) mod windows;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use testkit::stepping;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(crate) use testkit::{faults, tracer};
#[cfg(target_os = "linux")]
pub(crate) use testkit::{filter, timer};
pub(crate) use testkit::{memory as wanted, process, repeats, skipped};
