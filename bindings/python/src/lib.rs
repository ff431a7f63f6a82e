//! The native half of the Python package `wellspring`: `wellspring._native`.
//!
//! ```text
//! secrets         the engine of the process: bytes, integers, fractions; reseeds, mixed data, sandboxes
//! tokens          the same bytes as text
//! ids             identifiers
//! format          what the elements of such memory are
//! buffer          an object of Python with memory that is written to
//! block           which elements of an array a call makes, cut into pieces for threads
//! distributions   gamma, Poisson and others; rows of numbers; points of sequences
//! elements        arrays whose element i depends on the name and on i alone
//! draws           a stream behind a buffer, as NumPy's generators read it
//! bit_generator   the functions that NumPy calls, written into its struct
//! ```
//!
//! The Python half checks arguments and speaks to users. What comes in here has the right types; a wrong
//! value is still an error and never undefined behaviour, with one exception: see `bit_generator`.

mod bit_generator;
mod block;
mod buffer;
mod distributions;
mod draws;
mod elements;
mod format;
mod ids;
mod secrets;
mod tokens;

use pyo3::prelude::*;

/// Where `wellspring` computes.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::bit_generator::{Stream, install_engine};
    #[pymodule_export]
    use crate::elements::Elements;
    #[pymodule_export]
    use crate::ids::{trace_id, ulid, uuid4_bytes, uuid4_text, uuid7_bytes, uuid7_text};
    #[pymodule_export]
    use crate::secrets::{
        diverge_from_clones, fill, mix, prepare_for_sandbox, randbelow, randbits, random, reseed,
        token_bytes,
    };
    #[pymodule_export]
    use crate::tokens::{token_hex, token_urlsafe};
}
