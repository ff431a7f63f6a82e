//! The C library of wellspring. `include/wellspring.h` and `man/` say what its functions do; `tests/library/interface.rs`
//! compares the types.
//!
//! ```text
//! edge      the numbers that functions return, and ws_strerror; a caller's pointer and length become a slice, or an error; the
//!           calling thread, found without the loader
//! fill      bytes, numbers and identifiers from the calling thread's tap
//! engine    ws_reseed, ws_mix, ws_diverge_from_clones, ws_prepare_for_sandbox, ws_generation, ws_stats, ws_version; owned
//!           generators
//! stream    reproducible streams
//! elements  distributions, rows of numbers, points and shuffles, whose element i depends on a name and on i alone
//! ```
//!
//! Every function is `extern "C"`: a panic ends the process there, with its message, and never reaches the caller.

pub mod edge;
#[rustfmt::skip]
pub mod elements;
pub mod engine;
pub mod fill;
pub mod stream;
