//! The real command, as its users call it.
//!
//! ```text
//! bytes     `bytes`, and its output
//! run       `run`, with the programs that it starts
//! commands  the other commands
//! ```

mod bytes;
mod commands;
mod common;
mod run;
