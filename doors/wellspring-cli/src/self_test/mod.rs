//! Self-tests: what a test is, and what the tests of this command and of the kernel module share.
//!
//! ```text
//! check           a test, its name and its outcome
//! blocks          no 16 bytes twice
//! known_answers   FreeBSD's answers through any pipeline
//! ```

mod blocks;
mod check;
mod known_answers;

pub(crate) use blocks::{BLOCK_BYTES, are_distinct};
pub(crate) use check::{Check, Outcome, Stop, broken, failed, skipped};
pub(crate) use known_answers::gives_freebsds_answers;
