//! The native half of the Python package `wellspring`: `wellspring._native`.
//!
//! ```text
//! secrets        the engine of the process: bytes, integers, fractions, text, identifiers; reseeds, mixed data, sandboxes
//! buffer         an object of Python with memory that is written to, and what its elements are
//! block          which elements of an array a call makes, cut into pieces for threads
//! columns        parameters that are arrays, beside the elements of a block
//! elements       arrays whose element i depends on the name and on i alone, by the table of distributions
//! xla            the same arrays for JAX: a handler that programs of XLA call on CPUs
//! bit_generator  a stream behind a buffer, and the functions that NumPy calls, written into its struct
//! ```
//!
//! The Python half checks arguments and speaks to users. What comes in here has the right types; a wrong
//! value is still an error and never undefined behaviour, with one exception: see `bit_generator`.

mod bit_generator;
mod block;
mod buffer;
mod columns;
mod elements;
mod secrets;
mod xla;

use pyo3::prelude::*;

/// Where `wellspring` computes.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::bit_generator::{Stream, install_engine};
    #[pymodule_export]
    use crate::elements::{Distribution, Elements, Parameter, distributions};
    #[pymodule_export]
    use crate::secrets::{
        diverge_from_clones, fill, mix, prepare_for_sandbox, randbelow, randbits, random, reseed,
        token_bytes, token_hex, token_urlsafe, trace_id, ulid, uuid4_bytes, uuid4_text,
        uuid7_bytes, uuid7_text,
    };
    #[pymodule_export]
    use crate::xla::xla_handler;
}
