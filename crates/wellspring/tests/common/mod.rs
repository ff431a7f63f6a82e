//! Functions that the tests of taps share.
#![allow(dead_code, reason = "each test file uses its part of this")]

#[cfg(target_arch = "x86_64")]
pub(crate) mod abandon;
pub(crate) mod door;
#[cfg(target_arch = "x86_64")]
pub(crate) mod faults;
#[path = "../../../wellspring-os/tests/common/filter.rs"]
pub(crate) mod filter;
pub(crate) mod process;
pub(crate) mod repeats;
#[cfg(target_arch = "x86_64")]
#[path = "../../../wellspring-os/tests/common/stepping.rs"]
pub(crate) mod stepping;
pub(crate) mod timer;
#[cfg(target_arch = "x86_64")]
pub(crate) mod tracer;
pub(crate) mod wanted;
pub(crate) mod windows;

/// Says that a test did not run, and why.
pub(crate) fn skipped(reason: &str) {
    println!("SKIPPED: {reason}");
}
