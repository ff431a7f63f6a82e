//! The numbers against what statistics expect of them.
//!
//! ```text
//! families         every distribution against its distribution function
//! between_streams  streams of neighbouring names beside each other
//! ```

#[path = "../common/mod.rs"]
mod common;

mod between_streams;
mod families;
