//! The C library.
//!
//! ```text
//! api        as C and C++ programs see it, also harsh ones
//! interface  the header, the symbols, the baseline in `abi/`
//! ```

mod api;
mod common;
mod interface;
