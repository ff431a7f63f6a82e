//! Random text for keys. The bytes and the text that it is made of are wiped; Python's own buffers would not be.

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use zeroize::Zeroizing;

use crate::secrets::token_length;

/// Random text of two hexadecimal digits for each of `nbytes` bytes. Without an argument 64 digits.
#[pyfunction]
#[pyo3(signature = (nbytes=None))]
pub(crate) fn token_hex(py: Python<'_>, nbytes: Option<isize>) -> PyResult<Bound<'_, PyString>> {
    text(py, nbytes, |piece, text| {
        // A comparison of bytes compiles to a mask: a table could be seen in the cache.
        let digit = |nibble: u8| nibble + b'0' + u8::from(nibble > 9) * (b'a' - b'0' - 10);
        text.extend(
            piece
                .iter()
                .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]),
        );
    })
}

/// Random text that is safe in a URL: `nbytes` bytes, without an argument 32, in Base64 of RFC 4648 section 5, without
/// padding.
#[pyfunction]
#[pyo3(signature = (nbytes=None))]
pub(crate) fn token_urlsafe(
    py: Python<'_>,
    nbytes: Option<isize>,
) -> PyResult<Bound<'_, PyString>> {
    text(py, nbytes, |piece, text| {
        let byte = |place: usize| piece.get(place).copied().unwrap_or(0);
        let bits = u32::from_be_bytes([0, byte(0), byte(1), byte(2)]);
        let digits = [18, 12, 6, 0].map(|shift| url_digit((bits >> shift) as u8 & 63));
        text.extend(&digits[..piece.len() + 1]);
    })
}

/// `A`..`Z`, `a`..`z`, `0`..`9`, `-`, `_`: at the start of each range, the distance to ASCII changes.
fn url_digit(value: u8) -> u8 {
    let step = |first: u8, by: u8| u8::from(value >= first).wrapping_mul(by);
    let digit = value + b'A';
    let digit = digit.wrapping_add(step(26, b'a' - b'A' - 26));
    let digit = digit.wrapping_sub(step(52, b'a' + 26 - b'0'));
    let digit = digit.wrapping_sub(step(62, b'0' + 10 - b'-'));
    digit.wrapping_add(step(63, b'_' - b'-' - 1))
}

/// Random bytes as text; `encode` appends the text of up to 3 bytes.
fn text(
    py: Python<'_>,
    nbytes: Option<isize>,
    encode: impl Fn(&[u8], &mut Vec<u8>),
) -> PyResult<Bound<'_, PyString>> {
    let length = token_length(nbytes)?;
    let mut bytes = Zeroizing::new(Vec::new());
    let mut text = Zeroizing::new(Vec::new());
    // The text has room from the beginning: a vector that grows leaves its old content behind.
    let has_room = bytes.try_reserve_exact(length).is_ok()
        && text.try_reserve_exact(length.saturating_mul(2)).is_ok();
    if !has_room {
        return Err(PyMemoryError::new_err("no memory for the token"));
    }
    bytes.resize(length, 0);
    wellspring::fill(&mut bytes);
    bytes.chunks(3).for_each(|piece| encode(piece, &mut text));
    // All of it is ASCII: this copies nothing.
    Ok(PyString::new(py, &String::from_utf8_lossy(&text)))
}
