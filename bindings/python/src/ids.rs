//! Identifiers: the bytes of UUIDs, and text.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use wellspring::ids;

/// The bytes of a UUID of version 4.
#[pyfunction]
pub(crate) fn uuid4_bytes(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &ids::uuid4())
}

/// The bytes of a UUID of version 7.
#[pyfunction]
pub(crate) fn uuid7_bytes(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &ids::uuid7())
}

/// The text of a UUID of version 4.
#[pyfunction]
pub(crate) fn uuid4_text(py: Python<'_>) -> Bound<'_, PyString> {
    PyString::new(py, &ids::uuid_text(ids::uuid4()))
}

/// The text of a UUID of version 7.
#[pyfunction]
pub(crate) fn uuid7_text(py: Python<'_>) -> Bound<'_, PyString> {
    PyString::new(py, &ids::uuid_text(ids::uuid7()))
}

/// The text of a ULID.
#[pyfunction]
pub(crate) fn ulid(py: Python<'_>) -> Bound<'_, PyString> {
    PyString::new(py, &ids::ulid_text(ids::ulid()))
}

/// The text of a trace id.
#[pyfunction]
#[pyo3(signature = (nbytes=16))]
pub(crate) fn trace_id(py: Python<'_>, nbytes: isize) -> PyResult<Bound<'_, PyString>> {
    match nbytes {
        16 => Ok(PyString::new(
            py,
            &ids::hex_text::<16, 32>(wellspring::bytes()),
        )),
        32 => Ok(PyString::new(
            py,
            &ids::hex_text::<32, 64>(wellspring::bytes()),
        )),
        _ => Err(PyValueError::new_err("nbytes must be 16 or 32")),
    }
}
