//! The pipeline, part by part, under a clock that the test sets.
//!
//! ```text
//! pools         when the pools give a seed, and what it contains
//! distribution  which node is seeded, and with what
//! fortuna       the generator against a model
//! tap           what a tap hands out, and what it keeps
//! zeroed        zeroed memory is a value of every type
//! memory        no secret is left in memory after its use
//! ```

#![cfg(not(loom))]

mod common;
mod distribution;
mod fortuna;
#[cfg(target_os = "linux")]
mod memory;
mod pools;
#[cfg(target_os = "linux")]
mod reading;
mod tap;
#[cfg(target_os = "linux")]
mod zeroed;
