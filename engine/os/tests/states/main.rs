//! The states of threads: who reads one, when, and what a fork or a sandbox leaves of it. Children are made by fork(3): in one
//! of a raw clone(2) a lock of malloc(3) that another test held would stay locked, so those tests are in `raw_clones`.
//!
//! ```text
//! current    the hot path: a state is read while it is current
//! soundness  safe programs that once read freed memory
//! fork       a fork in the middle of a read
//! sandbox    no system call after the preparation
//! ```

#[path = "../common/mod.rs"]
mod common;

mod current;
mod fork;
mod sandbox;
mod soundness;
