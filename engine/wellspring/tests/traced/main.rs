//! Children whose system calls a tracer counts, forbids, or makes fail. A tracer makes them by a raw clone(2), in which a lock of
//! malloc(3) that another thread held would stay locked: so one test runs at a time.
//!
//! ```text
//! hot_path         the hot path makes no system call
//! faults_of_parts  system calls of the page, the sources and the harvester may fail
//! ```

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

#[path = "../common/mod.rs"]
mod common;

mod faults_of_parts;
mod hot_path;

use std::sync::Mutex;

/// Each test holds it.
static ALONE: Mutex<()> = Mutex::new(());
