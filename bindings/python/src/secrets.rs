//! The engine of the process: bytes, integers, fractions, text and identifiers that are fit for keys.

use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};
use wellspring::{Engine, Error, ids};
use zeroize::{Zeroize, Zeroizing};

use crate::block::{ALL, fill_in_pieces, stay_on_one_thread};
use crate::buffer::{Buffer, with_bytes};

/// From this size on, other threads of Python run while bytes are made. Less takes a few microseconds.
const RELEASE_FROM_BYTES: usize = 64 << 10;

/// The number of bytes that `secrets.token_bytes()` returns without an argument.
const DEFAULT_BYTES: isize = 32;

/// Return random bytes that are fit for keys.
///
/// Parameters
/// ----------
/// nbytes : int, default 32
///     How many.
///
/// Raises
/// ------
/// ValueError
///     If nbytes is negative.
/// MemoryError
///     If there is no memory for this many.
///
/// Examples
/// --------
/// >>> len(token_bytes(16))
/// 16
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
fn token_length(nbytes: Option<isize>) -> PyResult<usize> {
    usize::try_from(nbytes.unwrap_or(DEFAULT_BYTES))
        .map_err(|_| PyValueError::new_err("nbytes must not be negative"))
}

/// Separate this process from all copies of it and of its machine.
///
/// Every thread takes a fresh key at its next read. Call it first after a restored snapshot or checkpoint; with a generation
/// page the engine does so by itself.
///
/// Returns
/// -------
/// int
///     The new generation.
///
/// Examples
/// --------
/// >>> diverge_from_clones() < diverge_from_clones()
/// True
#[pyfunction]
pub(crate) fn diverge_from_clones(py: Python<'_>) -> u64 {
    py.detach(wellspring::diverge_from_clones)
}

/// Draw on all fast sources and reseed every node.
///
/// Afterwards no thread reads a byte that does not depend on the new seed, and on all that `mix` took before. The engine
/// reseeds itself; this is for a caller who has a reason.
///
/// Returns
/// -------
/// int
///     The new generation.
///
/// Raises
/// ------
/// RuntimeError
///     If the sources yielded nothing. In a sandbox that is so where the processor has no instruction for random numbers; the
///     generation has moved then, and threads have taken fresh keys.
///
/// Examples
/// --------
/// >>> reseed() < reseed()
/// True
#[pyfunction]
pub(crate) fn reseed(py: Python<'_>) -> PyResult<u64> {
    py.detach(wellspring::reseed).map_err(failed)
}

/// Hash bytes into the pools, without credit: data from an attacker weakens nothing.
///
/// They take effect at a later reseed. The call never waits, and drops the data if data of 64 calls waits for the pools.
///
/// Parameters
/// ----------
/// data : contiguous buffer
///     Bytes, or any other object with a buffer.
///
/// Examples
/// --------
/// >>> mix(b"what only this machine has seen")
#[pyfunction]
pub(crate) fn mix(data: &Bound<'_, PyAny>) -> PyResult<()> {
    with_bytes(data, "data", |bytes| Engine::process().mix(bytes))
}

/// Prepare this process, and the calling thread, for a sandbox that forbids system calls, as strict seccomp does.
///
/// Afterwards, and in all children, no draw makes a system call, no call of this package starts a thread, and reseeds take the
/// processor's instructions alone. This cannot be undone. Call it before the filter is installed, and on each thread that will
/// draw. docs/start/python.md says which system calls Python itself makes.
///
/// Raises
/// ------
/// RuntimeError
///     If the engine is not seeded yet. Nothing is changed then.
///
/// Examples
/// --------
/// >>> prepare_for_sandbox()  # doctest: +SKIP
#[pyfunction]
pub(crate) fn prepare_for_sandbox() -> PyResult<()> {
    Engine::process().prepare_for_sandbox().map_err(failed)?;
    stay_on_one_thread();
    Ok(())
}

fn failed(error: Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// Fill memory with random bytes that are fit for keys.
///
/// From 64 KiB on, other threads of Python run meanwhile; from 512 KiB on, all cores work.
///
/// Parameters
/// ----------
/// out : writable, contiguous buffer
///     Its elements are numbers or strings of bytes, of any byte order.
///
/// Raises
/// ------
/// TypeError
///     If out has elements that cannot have any bits, such as objects, booleans, text and records, or no buffer.
/// ValueError
///     If out is read-only or not contiguous.
///
/// Examples
/// --------
/// >>> key = bytearray(32)
/// >>> fill(key)
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

/// Return an integer of k random bits.
///
/// Raises
/// ------
/// ValueError
///     If k is negative.
///
/// Examples
/// --------
/// >>> 0 <= randbits(128) < 2**128
/// True
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
    // SAFETY: the memory of this object, `length` bytes. It has at least 9, so Python does not share it; the caller has the
    // only reference, and Python's lock.
    unsafe {
        let start = ffi::PyBytes_AsString(bytes.as_ptr()).cast::<u8>();
        std::slice::from_raw_parts_mut(start, length).zeroize();
    }
}

/// Return an integer from 0 to n - 1, each with the same probability.
///
/// Raises
/// ------
/// ValueError
///     If n is not above 0.
///
/// Examples
/// --------
/// >>> 0 <= randbelow(10**40) < 10**40
/// True
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

/// Return a multiple of 2**-53 from 0 to 1, without 1.
///
/// Examples
/// --------
/// >>> 0.0 <= random() < 1.0
/// True
#[pyfunction]
pub(crate) fn random() -> f64 {
    wellspring::f64()
}

// Text. The bytes and the text that it is made of are wiped; Python's own buffers would not be.

/// Return random text of 2 * nbytes hexadecimal digits.
///
/// Parameters
/// ----------
/// nbytes : int, default 32
///     The number of random bytes.
///
/// Examples
/// --------
/// >>> len(token_hex(16))
/// 32
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

/// Return random text that is safe in a URL: Base64 of RFC 4648 section 5, without padding.
///
/// Parameters
/// ----------
/// nbytes : int, default 32
///     The number of random bytes. The text has about 1.3 times as many characters.
///
/// Examples
/// --------
/// >>> len(token_urlsafe(16))
/// 22
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

/// Return the 16 bytes of a UUID of version 4: 122 random bits.
///
/// Examples
/// --------
/// >>> len(uuid4_bytes())
/// 16
#[pyfunction]
pub(crate) fn uuid4_bytes(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &ids::uuid4())
}

/// Return the 16 bytes of a UUID of version 7: the time in milliseconds, a counter, 56 random bits.
///
/// Examples
/// --------
/// >>> uuid7_bytes() < uuid7_bytes()
/// True
#[pyfunction]
pub(crate) fn uuid7_bytes(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &ids::uuid7())
}

/// Return the text of a UUID of version 4: 36 characters.
///
/// Examples
/// --------
/// >>> len(uuid4_text())
/// 36
#[pyfunction]
pub(crate) fn uuid4_text(py: Python<'_>) -> Bound<'_, PyString> {
    PyString::new(py, &ids::uuid_text(ids::uuid4()))
}

/// Return the text of a UUID of version 7: 36 characters.
///
/// Examples
/// --------
/// >>> uuid7_text() < uuid7_text()
/// True
#[pyfunction]
pub(crate) fn uuid7_text(py: Python<'_>) -> Bound<'_, PyString> {
    PyString::new(py, &ids::uuid_text(ids::uuid7()))
}

/// Return the text of a ULID: 26 digits of Crockford's base 32, which begin with the time.
///
/// Examples
/// --------
/// >>> ulid() < ulid()
/// True
#[pyfunction]
pub(crate) fn ulid(py: Python<'_>) -> Bound<'_, PyString> {
    PyString::new(py, &ids::ulid_text(ids::ulid()))
}

/// Return a trace id: random bytes as hexadecimal digits.
///
/// Parameters
/// ----------
/// nbytes : int, default 16
///     16, as OpenTelemetry has them, or 32.
///
/// Raises
/// ------
/// ValueError
///     If nbytes is another number.
///
/// Examples
/// --------
/// >>> len(trace_id())
/// 32
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
