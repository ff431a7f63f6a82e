//! The engine of the process: bytes, integers and fractions that are fit for keys.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};
use wellspring::{Engine, Error};
use zeroize::Zeroize;

use crate::block::{ALL, fill_in_pieces, stay_on_one_thread};
use crate::buffer::{Buffer, with_bytes};

/// From this size on, other threads of Python run while bytes are made. Less takes a few microseconds.
const RELEASE_FROM_BYTES: usize = 64 << 10;

/// The number of bytes that `secrets.token_bytes()` returns without an argument.
const DEFAULT_BYTES: isize = 32;

/// Random bytes fit for keys. Without an argument 32 of them.
#[pyfunction]
#[pyo3(signature = (nbytes=None))]
pub(crate) fn token_bytes(py: Python<'_>, nbytes: Option<isize>) -> PyResult<Bound<'_, PyBytes>> {
    let length = token_length(nbytes)?;
    PyBytes::new_with(py, length, |bytes| {
        if length < RELEASE_FROM_BYTES {
            wellspring::fill(bytes);
        } else {
            py.detach(|| wellspring::fill(bytes));
        }
        Ok(())
    })
}

/// The bytes of a token.
pub(crate) fn token_length(nbytes: Option<isize>) -> PyResult<usize> {
    usize::try_from(nbytes.unwrap_or(DEFAULT_BYTES))
        .map_err(|_| PyValueError::new_err("nbytes must not be negative"))
}

/// Separates this process from all copies of it, as `Engine::diverge_from_clones` does. Returns the new generation.
#[pyfunction]
pub(crate) fn diverge_from_clones(py: Python<'_>) -> u64 {
    py.detach(wellspring::diverge_from_clones)
}

/// Reseeds the engine, as `Engine::reseed` does. Returns the new generation.
#[pyfunction]
pub(crate) fn reseed(py: Python<'_>) -> PyResult<u64> {
    py.detach(wellspring::reseed).map_err(failed)
}

/// Hashes the bytes of an object into the pools, without credit, as `Engine::mix` does.
#[pyfunction]
pub(crate) fn mix(data: &Bound<'_, PyAny>) -> PyResult<()> {
    with_bytes(data, "data", |bytes| Engine::process().mix(bytes))
}

/// Prepares the process and the calling thread for a sandbox, as `Engine::prepare_for_sandbox` does.
#[pyfunction]
pub(crate) fn prepare_for_sandbox() -> PyResult<()> {
    Engine::process().prepare_for_sandbox().map_err(failed)?;
    stay_on_one_thread();
    Ok(())
}

fn failed(error: Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// Fills a writable buffer with random bytes fit for keys, on all cores.
#[pyfunction]
pub(crate) fn fill(py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<()> {
    let buffer = Buffer::get(out, "out")?;
    let bytes = buffer.bytes("out")?;
    if bytes.len() < RELEASE_FROM_BYTES {
        wellspring::fill(bytes);
    } else {
        py.detach(|| fill_in_pieces(bytes, 1, ALL, &|_, piece| wellspring::fill(piece)));
    }
    Ok(())
}

/// An integer of `k` random bits.
#[pyfunction]
pub(crate) fn randbits(py: Python<'_>, k: isize) -> PyResult<Bound<'_, PyInt>> {
    let bits = usize::try_from(k)
        .map_err(|_| PyValueError::new_err("number of bits must be non-negative"))?;
    if bits == 0 {
        return Ok(0u64.into_pyobject(py)?);
    }
    if bits <= 64 {
        return Ok((wellspring::u64() >> (64 - bits)).into_pyobject(py)?);
    }
    let length = bits.div_ceil(8);
    let bytes = PyBytes::new_with(py, length, |bytes| {
        wellspring::fill(bytes);
        bytes[length - 1] >>= length * 8 - bits;
        Ok(())
    })?;
    let integer = py
        .get_type::<PyInt>()
        .call_method1("from_bytes", (&bytes, "little"))?;
    wipe(&bytes);
    Ok(integer.cast_into()?)
}

/// Overwrites bytes that this module made and gave to no code that keeps them.
fn wipe(bytes: &Bound<'_, PyBytes>) {
    let length = bytes.as_bytes().len();
    // SAFETY: the memory of this object, `length` bytes. It has at least 9, so it is none of the objects that Python
    // shares; the caller has the only reference, and Python's lock.
    unsafe {
        let start = ffi::PyBytes_AsString(bytes.as_ptr()).cast::<u8>();
        std::slice::from_raw_parts_mut(start, length).zeroize();
    }
}

/// An integer from 0 to `n` - 1, each with the same probability.
#[pyfunction]
pub(crate) fn randbelow<'py>(
    py: Python<'py>,
    n: &Bound<'py, PyInt>,
) -> PyResult<Bound<'py, PyInt>> {
    let n = &exactly(n)?;
    if n.le(0)? {
        return Err(PyValueError::new_err("Upper bound must be positive."));
    }
    if let Ok(n) = n.extract::<u64>() {
        return Ok(wellspring::below(n).into_pyobject(py)?);
    }
    let bits = n.call_method0("bit_length")?.extract()?;
    loop {
        let candidate = randbits(py, bits)?;
        if candidate.lt(n)? {
            return Ok(candidate);
        }
    }
}

/// The number itself. A class that inherits from int can answer comparisons otherwise, and the draws would never end.
fn exactly<'py>(n: &Bound<'py, PyInt>) -> PyResult<Bound<'py, PyInt>> {
    if n.is_exact_instance_of::<PyInt>() {
        return Ok(n.clone());
    }
    let number = n.py().get_type::<PyInt>().call_method1("__add__", (n, 0))?;
    Ok(number.cast_into()?)
}

/// A multiple of 2^-53 from 0 to 1, without 1.
#[pyfunction]
pub(crate) fn random() -> f64 {
    wellspring::f64()
}
