//! The C library of wellspring. `include/wellspring.h` and `man/` say what its functions do; `tests/header.rs` compares the
//! types.
//!
//! ```text
//! error     the numbers that functions return, and ws_strerror
//! memory    a caller's pointer and length become a slice, or an error
//! thread    the calling thread, found without the loader
//! fill      bytes and numbers from the calling thread's tap
//! ids       identifiers and their text
//! engine    ws_reseed, ws_mix, ws_diverge_from_clones, ws_prepare_for_sandbox, ws_generation, ws_stats, ws_version
//! rng       owned generators
//! stream    reproducible streams
//! elements  distributions whose element i depends on a name and on i alone
//! rows      the same for rows of numbers, weights and points of sequences; shuffles
//! ```
//!
//! Every function is `extern "C"`: a panic ends the process there, with its message, and never reaches the caller.

#[rustfmt::skip]
pub mod elements;
pub mod engine;
pub mod error;
pub mod fill;
pub mod ids;
mod memory;
pub mod rng;
#[rustfmt::skip]
pub mod rows;
pub mod stream;
mod thread;
