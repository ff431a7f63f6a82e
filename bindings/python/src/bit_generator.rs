//! The functions that NumPy calls, written into its struct.
//!
//! NumPy's class `BitGenerator` holds a C struct, and `Generator`, `random_raw`, `.ctypes`, `.cffi` and numba take copies of
//! it. A class of Python that inherits from `BitGenerator` writes these functions and a state into the struct.
//!
//! NumPy calls them without the global lock of the interpreter, under the `lock` of the bit generator. The methods of
//! [`Stream`] must be called under the same lock: the Python half does.

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use wellspring_pseudo::{Algorithm, TooManyJumps};

use crate::block::{ALL, fill_in_pieces};
use crate::buffer::{Buffer, new_bytes};

/// From this size on, bytes are made on all cores.
const PARALLEL_FROM_BYTES: usize = 2 << 20;

/// `bitgen_t` of `numpy/random/bitgen.h`.
#[repr(C)]
struct BitGen {
    state: *mut c_void,
    next_uint64: extern "C" fn(*mut c_void) -> u64,
    next_uint32: extern "C" fn(*mut c_void) -> u32,
    next_double: extern "C" fn(*mut c_void) -> f64,
    next_raw: extern "C" fn(*mut c_void) -> u64,
}

/// Writes into the struct that a capsule of NumPy points to.
fn install(capsule: &Bound<'_, PyAny>, functions: BitGen) -> PyResult<()> {
    // SAFETY: PyCapsule_GetPointer takes any object, and fails for what is not a capsule of this name.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), c"BitGenerator".as_ptr()) };
    if pointer.is_null() {
        return Err(PyErr::fetch(capsule.py()));
    }
    // SAFETY: NumPy gives this name to pointers to a `bitgen_t` that lives as long as the bit generator, and nothing but
    // the caller, its constructor, knows it so far.
    unsafe { pointer.cast::<BitGen>().write(functions) };
    Ok(())
}

extern "C" fn engine_u64(_: *mut c_void) -> u64 {
    wellspring::u64()
}

extern "C" fn engine_u32(_: *mut c_void) -> u32 {
    wellspring::u32()
}

extern "C" fn engine_f64(_: *mut c_void) -> f64 {
    wellspring::f64()
}

/// Keeps a stream for as long as a capsule of NumPy, hence as its bit generator, and whatever becomes of the attribute that
/// names the stream.
///
/// # Errors
///
/// `RuntimeError` if the capsule keeps one already: generators may have copied its address.
fn keep(capsule: &Bound<'_, PyAny>, stream: Bound<'_, Stream>) -> PyResult<()> {
    let name = c"BitGenerator".as_ptr();
    let place = capsule.as_ptr();
    // SAFETY: the calls take any object and look whether it is a capsule. The reference to the stream goes to the capsule,
    // whose destructor drops it.
    unsafe {
        if ffi::PyCapsule_IsValid(place, name) == 0 {
            return Err(PyTypeError::new_err("no capsule of a bit generator"));
        }
        if !ffi::PyCapsule_GetContext(place).is_null() {
            return Err(PyRuntimeError::new_err(
                "the bit generator has its stream already",
            ));
        }
        ffi::PyCapsule_SetContext(place, stream.into_ptr().cast());
        ffi::PyCapsule_SetDestructor(place, Some(drop_kept));
    }
    Ok(())
}

/// The destructor of a capsule that keeps a stream.
unsafe extern "C" fn drop_kept(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it once, with the lock of the interpreter; `keep` put the reference there.
    unsafe { ffi::Py_XDECREF(ffi::PyCapsule_GetContext(capsule).cast()) };
}

/// Lets a bit generator read from the engine of the process. There is no state outside the engine, so that nothing repeats
/// after a fork.
#[pyfunction]
pub(crate) fn install_engine(capsule: &Bound<'_, PyAny>) -> PyResult<()> {
    // The first read may fail, and here its panic becomes an exception. Later ones cannot.
    let _ = wellspring::u64();
    install(
        capsule,
        BitGen {
            state: std::ptr::dangling_mut(),
            next_uint64: engine_u64,
            next_uint32: engine_u32,
            next_double: engine_f64,
            next_raw: engine_u64,
        },
    )
}

macro_rules! draw {
    ($($name:ident: $draw:ident -> $type:ty),*) => {$(
        extern "C" fn $name(state: *mut c_void) -> $type {
            // SAFETY: `state` is the pointer that `Stream::install` wrote. The bit generator keeps its capsule, which keeps
            // the `Stream`; its readers keep the bit generator and hold its lock, which no second `__init__` replaces.
            unsafe { &mut *state.cast::<Draws>() }.$draw()
        }
    )*};
}

draw!(stream_u64: next_u64 -> u64, stream_u32: next_u32 -> u32, stream_f64: next_f64 -> f64);

/// The state of a bit generator. It stays at one place in memory, which NumPy's generators know.
#[pyclass(frozen, module = "wellspring._native")]
pub(crate) struct Stream {
    draws: Box<UnsafeCell<Draws>>,
}

// SAFETY: `draws` is reached under the lock of the bit generator only: see `draws`.
unsafe impl Sync for Stream {}

impl Stream {
    #[allow(
        clippy::mut_from_ref,
        reason = "the lock of the bit generator makes it the only one"
    )]
    fn draws(&self) -> &mut Draws {
        // SAFETY: every caller holds the lock of the bit generator, NumPy and `wellspring.random` alike, and
        // no method keeps this reference after it returns.
        unsafe { &mut *self.draws.get() }
    }
}

fn open(algorithm: Algorithm, words: [u64; 4], jumps: u64, position: u128) -> PyResult<Draws> {
    Draws::new(algorithm, words, jumps, position)
        .map_err(|error| PyValueError::new_err(format!("jumps: {error}")))
}

impl From<Draws> for Stream {
    fn from(draws: Draws) -> Self {
        let draws = Box::new(UnsafeCell::new(draws));
        Self { draws }
    }
}

#[pymethods]
impl Stream {
    /// The stream whose state or key is these words.
    #[new]
    fn new(algorithm: &str, words: [u64; 4]) -> PyResult<Self> {
        let algorithm = algorithm.parse().map_err(|error| {
            PyValueError::new_err(format!("unknown algorithm '{algorithm}': {error}"))
        })?;
        Ok(open(algorithm, words, 0, 0)?.into())
    }

    /// Writes the functions of this stream into a capsule of NumPy, which keeps the stream from now on.
    fn install(slf: &Bound<'_, Self>, capsule: &Bound<'_, PyAny>) -> PyResult<()> {
        let state = slf.get().draws.get().cast();
        keep(capsule, slf.clone())?;
        install(
            capsule,
            BitGen {
                state,
                next_uint64: stream_u64,
                next_uint32: stream_u32,
                next_double: stream_f64,
                next_raw: stream_u64,
            },
        )
    }

    /// Key, jumps, position, whether half of a word is left, that half.
    fn state(&self) -> ([u64; 4], u64, u128, bool, u32) {
        let draws = self.draws();
        let half = draws.half();
        (
            draws.words(),
            draws.jumps(),
            draws.position(),
            half.is_some(),
            half.unwrap_or(0),
        )
    }

    /// Goes to such a state, at the same place in memory.
    fn set_state(
        &self,
        words: [u64; 4],
        jumps: u64,
        position: u128,
        half: Option<u32>,
    ) -> PyResult<()> {
        let mut new = open(self.draws().algorithm(), words, jumps, position)?;
        new.set_half(half);
        *self.draws() = new;
        Ok(())
    }

    /// The same stream, `jumps` jumps ahead at the same position.
    fn jumped(&self, jumps: u64) -> PyResult<Self> {
        let draws = self.draws();
        let total = draws.jumps().saturating_add(jumps);
        Ok(open(draws.algorithm(), draws.words(), total, draws.position())?.into())
    }

    /// Goes to a byte.
    fn seek(&self, position: u128) {
        self.draws().seek(position);
    }

    /// The number of the next byte.
    fn position(&self) -> u128 {
        self.draws().position()
    }

    /// Fills a buffer with the next bytes; on all cores, if the algorithm has a counter.
    fn fill(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let buffer = Buffer::get(out, "out")?;
        self.fill_bytes(py, buffer.bytes("out")?);
        Ok(())
    }

    /// As many of the next bytes.
    fn bytes<'py>(&self, py: Python<'py>, length: usize) -> PyResult<Bound<'py, PyBytes>> {
        new_bytes(py, length, |bytes| self.fill_bytes(py, bytes))
    }
}

impl Stream {
    fn fill_bytes(&self, py: Python<'_>, bytes: &mut [u8]) {
        let draws = self.draws();
        if bytes.len() < PARALLEL_FROM_BYTES || !draws.algorithm().is_counter_based() {
            py.detach(|| draws.fill(bytes));
            return;
        }
        py.detach(|| {
            let stream = draws.stream();
            fill_in_pieces(bytes, 1, ALL, &|start, piece| {
                stream.at(position_after(&stream, start)).fill(piece);
            });
            let half = draws.half();
            draws.seek(position_after(&stream, bytes.len()));
            draws.set_half(half);
        });
    }
}

/// The position of the byte `offset` bytes on.
fn position_after(stream: &wellspring_pseudo::Stream, offset: usize) -> u128 {
    stream.position().wrapping_add(offset as u128)
}

// A stream behind a buffer, as NumPy's generators read it.

/// Bytes that are made at a time: a call for 8 of them then takes about a nanosecond.
const BUFFER_BYTES: usize = 1024;

/// A stream with a buffer, and half of a word.
///
/// As in NumPy's own generators, a number of 32 bits takes a word of 64, and the next one takes its upper
/// half, whatever is read in between.
#[derive(Clone)]
struct Draws {
    /// The words of the key or state at the beginning of the stream.
    words: [u64; 4],
    /// Stands behind the buffer.
    stream: wellspring_pseudo::Stream,
    /// Its last bytes, from `used` on, are the next ones.
    buffer: [u8; BUFFER_BYTES],
    used: usize,
    half: Option<u32>,
}

impl Draws {
    /// The stream of these words, `jumps` jumps ahead.
    fn new(
        algorithm: Algorithm,
        words: [u64; 4],
        jumps: u64,
        position: u128,
    ) -> Result<Self, TooManyJumps> {
        let mut stream = wellspring_pseudo::Stream::from_words(algorithm, words);
        if jumps != 0 {
            stream = stream.jumped(jumps)?;
        }
        if position != 0 {
            stream.seek(position);
        }
        Ok(Self {
            words,
            stream,
            buffer: [0; BUFFER_BYTES],
            used: BUFFER_BYTES,
            half: None,
        })
    }

    fn words(&self) -> [u64; 4] {
        self.words
    }

    fn algorithm(&self) -> Algorithm {
        self.stream.algorithm()
    }

    /// The number of the next byte.
    fn position(&self) -> u128 {
        let left = (BUFFER_BYTES - self.used) as u128;
        self.stream.position().wrapping_sub(left)
    }

    fn jumps(&self) -> u64 {
        self.stream.jumps()
    }

    /// The upper half of a word whose lower half was read.
    fn half(&self) -> Option<u32> {
        self.half
    }

    fn set_half(&mut self, half: Option<u32>) {
        self.half = half;
    }

    /// Goes to a byte, and forgets the half.
    fn seek(&mut self, position: u128) {
        self.stream.seek(position);
        self.used = BUFFER_BYTES;
        self.half = None;
    }

    /// The stream at the next byte.
    fn stream(&self) -> wellspring_pseudo::Stream {
        self.stream.at(self.position())
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        if let Some(bytes) = self.buffer[self.used..].first_chunk() {
            self.used += size_of::<u64>();
            return u64::from_le_bytes(*bytes);
        }
        self.next_u64_of_new_buffer()
    }

    #[cold]
    fn next_u64_of_new_buffer(&mut self) -> u64 {
        let mut word = [0; size_of::<u64>()];
        let (old, new) = word.split_at_mut(BUFFER_BYTES - self.used);
        old.copy_from_slice(&self.buffer[self.used..]);
        self.stream.fill(&mut self.buffer);
        new.copy_from_slice(&self.buffer[..new.len()]);
        self.used = new.len();
        u64::from_le_bytes(word)
    }

    #[inline]
    fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let word = self.next_u64();
        self.half = Some((word >> 32) as u32);
        word as u32
    }

    /// A number in [0, 1) from the upper 53 bits of a word.
    #[inline]
    fn next_f64(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * STEP
    }

    /// The next bytes.
    fn fill(&mut self, out: &mut [u8]) {
        let count = out.len().min(BUFFER_BYTES - self.used);
        let (first, rest) = out.split_at_mut(count);
        first.copy_from_slice(&self.buffer[self.used..][..count]);
        self.used += count;
        self.stream.fill(rest);
    }
}
