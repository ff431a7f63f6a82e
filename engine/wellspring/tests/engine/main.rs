//! An engine as its callers see it.
//!
//! ```text
//! modes      the four modes against the generator that they are made of
//! seed_file  the seed file: read, replaced, mixed, credited at most once
//! ids        identifiers in many threads and in great numbers
//! ```

#[path = "../common/mod.rs"]
mod common;

mod ids;
mod modes;
mod seed_file;
