//! An object of Python with memory that is written to: a bytearray, an array, a NumPy array.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::{c_int, c_long, c_short, c_void};
use std::slice;

/// The memory of an object, for as long as this value lives. It is writable and C-contiguous.
///
/// Python lets two threads write to one buffer at the same time. As with NumPy's own functions, what is then
/// in it is not defined; nothing else is damaged, since any bits are a number.
pub(crate) struct Buffer {
    memory: PyUntypedBuffer,
}

/// The elements of a buffer.
pub(crate) enum Elements<'a> {
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
    I8(&'a mut [i8]),
    I16(&'a mut [i16]),
    I32(&'a mut [i32]),
    I64(&'a mut [i64]),
    U8(&'a mut [u8]),
    U16(&'a mut [u16]),
    U32(&'a mut [u32]),
    U64(&'a mut [u64]),
}

impl Buffer {
    /// The memory of `object`, which the caller knows as the argument `name`.
    pub(crate) fn get(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let memory = PyUntypedBuffer::get(object).map_err(|_| {
            PyTypeError::new_err(format!(
                "{name} has no memory that can be written to: no buffer with dimensions and strides"
            ))
        })?;
        if memory.readonly() {
            return Err(PyValueError::new_err(format!("{name} is read-only")));
        }
        if !memory.is_c_contiguous() {
            return Err(PyValueError::new_err(format!("{name} is not C-contiguous")));
        }
        Ok(Self { memory })
    }

    /// All bytes.
    ///
    /// # Errors
    ///
    /// `TypeError` if an element is no number and no string of bytes. Random bits in the place of a pointer end the process
    /// when it is followed.
    #[allow(
        clippy::mut_from_ref,
        reason = "the memory belongs to Python, which allows many writers"
    )]
    pub(crate) fn bytes(&self, name: &str) -> PyResult<&mut [u8]> {
        match self.element() {
            Some(_) => Ok(self.slice()),
            None => Err(self.refused(name, ", which cannot take any bytes: only numbers can")),
        }
    }

    /// The kind of the elements, if the object states one, with the size that they have.
    fn element(&self) -> Option<Element> {
        let element = Element::of(self.memory.format().to_bytes())?;
        (element.bytes == self.item_size()).then_some(element)
    }

    fn refused(&self, name: &str, reason: &str) -> PyErr {
        let (format, bytes) = (self.memory.format().to_string_lossy(), self.item_size());
        PyTypeError::new_err(format!(
            "{name} has elements of the format '{format}' and {bytes} bytes{reason}"
        ))
    }

    /// The bytes of an element.
    pub(crate) fn item_size(&self) -> usize {
        self.memory.item_size()
    }

    /// The elements, by the format that the object states.
    pub(crate) fn elements(&self, name: &str) -> PyResult<Elements<'_>> {
        let element = self.element().filter(|element| element.is_native);
        Ok(match element.map(|element| (element.kind, element.bytes)) {
            Some((Kind::Float, 4)) => Elements::F32(self.typed(name)?),
            Some((Kind::Float, 8)) => Elements::F64(self.typed(name)?),
            Some((Kind::Signed, 1)) => Elements::I8(self.typed(name)?),
            Some((Kind::Signed, 2)) => Elements::I16(self.typed(name)?),
            Some((Kind::Signed, 4)) => Elements::I32(self.typed(name)?),
            Some((Kind::Signed, 8)) => Elements::I64(self.typed(name)?),
            Some((Kind::Unsigned, 1)) => Elements::U8(self.typed(name)?),
            Some((Kind::Unsigned, 2)) => Elements::U16(self.typed(name)?),
            Some((Kind::Unsigned, 4)) => Elements::U32(self.typed(name)?),
            Some((Kind::Unsigned, 8)) => Elements::U64(self.typed(name)?),
            _ => return Err(self.refused(name, "")),
        })
    }

    #[allow(clippy::mut_from_ref, reason = "as of bytes")]
    fn typed<T: Number>(&self, name: &str) -> PyResult<&mut [T]> {
        let is_empty = self.memory.len_bytes() == 0;
        if !is_empty && !self.memory.buf_ptr().cast::<T>().is_aligned() {
            return Err(PyValueError::new_err(format!("{name} is not aligned")));
        }
        Ok(self.slice())
    }

    #[allow(clippy::mut_from_ref, reason = "as of bytes")]
    fn slice<T: Number>(&self) -> &mut [T] {
        let length = self.memory.len_bytes() / size_of::<T>();
        let start = self.memory.buf_ptr().cast::<T>();
        if length == 0 || !start.is_aligned() {
            return &mut [];
        }
        // SAFETY: Python keeps the memory at its place until `memory` is released, which is after the slice's
        // lifetime. It is writable and has no gaps (`get`), is aligned (looked at above), and any bits are a
        // `T`. Another thread of Python may write to it as well: then the numbers in it are not defined, which is
        // what Python promises its users for every buffer.
        unsafe { slice::from_raw_parts_mut(start, length) }
    }
}

/// The memory of an object that is read, such as parameters, for as long as this value lives. It is C-contiguous.
pub(crate) struct Source {
    memory: PyUntypedBuffer,
}

impl Source {
    pub(crate) fn get(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let memory = PyUntypedBuffer::get(object)
            .map_err(|_| PyTypeError::new_err("a parameter has no buffer"))?;
        if !memory.is_c_contiguous() {
            return Err(PyValueError::new_err("a parameter is not C-contiguous"));
        }
        Ok(Self { memory })
    }

    /// The numbers, if they have this type.
    pub(crate) fn numbers<T: Number>(&self) -> PyResult<&[T]> {
        let element = Element::of(self.memory.format().to_bytes())
            .filter(|element| element.is_native && element.kind == T::KIND);
        let is_of_type = element.is_some_and(|element| element.bytes == size_of::<T>())
            && self.memory.item_size() == size_of::<T>();
        let start = self.memory.buf_ptr().cast::<T>();
        if !is_of_type || !start.is_aligned() {
            return Err(PyTypeError::new_err(
                "a parameter has elements of another type",
            ));
        }
        let length = self.memory.len_bytes() / size_of::<T>();
        if length == 0 {
            return Ok(&[]);
        }
        // SAFETY: Python keeps the memory at its place until `memory` is released, which is after the slice's lifetime. It has
        // no gaps (`get`), is aligned (looked at above), and any bits are a `T`. If another thread of Python writes to it, the
        // numbers in it are not defined, as for every buffer; they are copied before they are checked and used.
        Ok(unsafe { slice::from_raw_parts(start, length) })
    }
}

/// Gives `take` the bytes of `object`, which may be read-only and have any elements. The caller knows it as the argument `name`.
pub(crate) fn with_bytes<T>(
    object: &Bound<'_, PyAny>,
    name: &str,
    take: impl FnOnce(&[u8]) -> T,
) -> PyResult<T> {
    let memory = PyUntypedBuffer::get(object)
        .map_err(|_| PyTypeError::new_err(format!("{name} has no bytes: no buffer")))?;
    if !memory.is_c_contiguous() {
        return Err(PyValueError::new_err(format!("{name} is not C-contiguous")));
    }
    if memory.len_bytes() == 0 {
        return Ok(take(&[]));
    }
    // SAFETY: the object has this many bytes at this place, without gaps, until `memory` is released, which is after `take`. No
    // other code of Python runs meanwhile; if native code writes to them, `take` reads other bits, and any are a `u8`.
    Ok(take(unsafe {
        slice::from_raw_parts(memory.buf_ptr().cast::<u8>(), memory.len_bytes())
    }))
}

/// A new bytes object of this length. `fill` writes every byte of it.
///
/// `PyBytes::new_with` would write zeros first, which takes a third of the time of the random bytes.
pub(crate) fn new_bytes<'py>(
    py: Python<'py>,
    length: usize,
    fill: impl FnOnce(&mut [u8]),
) -> PyResult<Bound<'py, PyBytes>> {
    let signed = ffi::Py_ssize_t::try_from(length)
        .map_err(|_| PyValueError::new_err("length is too large"))?;
    // SAFETY: without a source the call allocates only. It returns a new reference to an object of this type, or null
    // with an exception, which `from_owned_ptr_or_err` takes.
    let object = unsafe {
        let new = ffi::PyBytes_FromStringAndSize(std::ptr::null(), signed);
        Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: a bytes object has memory at this place for as long as it lives.
    let start = unsafe { ffi::PyBytes_AsString(object.as_ptr()) };
    ask_for_huge_pages(start.cast(), length);
    // SAFETY: the object has `length` bytes at this place. It is new: no other thread knows it, and its hash is not
    // computed yet. The allocator is a C function, and the compiler does not know what it wrote there; any bits are a
    // `u8`, and `fill` does not read them.
    fill(unsafe { slice::from_raw_parts_mut(start.cast::<u8>(), length) });
    Ok(object)
}

/// Asks for pages of 2 MiB for new memory of at least 4 MiB, as NumPy does for its arrays: the first write to each
/// page of 4 KiB costs about as much as 4 KiB of random bytes.
fn ask_for_huge_pages(start: *mut c_void, length: usize) {
    const HUGE_FROM_BYTES: usize = 4 << 20;
    const PAGE_BYTES: usize = 4096;
    /// `MADV_HUGEPAGE` of Linux.
    const HUGE_PAGES: c_int = 14;
    unsafe extern "C" {
        fn madvise(start: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    if length < HUGE_FROM_BYTES {
        return;
    }
    let skipped = start.align_offset(PAGE_BYTES);
    // SAFETY: the pages from the first whole one on are memory of the caller, and this advice changes no byte of it.
    // Where the system does not take it, nothing happens.
    unsafe {
        madvise(
            start.wrapping_byte_add(skipped),
            length - skipped,
            HUGE_PAGES,
        )
    };
}

/// The types for which any bits are a value.
pub(crate) trait Number: Copy + Default + Send + Sync {
    /// The kind of such an element in a buffer.
    const KIND: Kind;

    /// The nearest number to an integer; of an integer type, its lowest bits.
    fn from_integer(integer: i64) -> Self;
}

macro_rules! number {
    ($kind:ident: $($type:ident),*) => {$(
        impl Number for $type {
            const KIND: Kind = Kind::$kind;

            #[inline(always)]
            fn from_integer(integer: i64) -> Self {
                integer as $type
            }
        }
    )*};
}

number!(Float: f32, f64);
number!(Signed: i8, i16, i32, i64);
number!(Unsigned: u8, u16, u32, u64);

// The format of a buffer (PEP 3118 and the module struct of Python), as far as one number or string of bytes.
//
// A record, `T{i:a:d:b:}`, is neither. ctypes writes the names of fields as they are, and a name may hold colons: so no
// reader can tell which part of such a format is a type. A record of NumPy may leave fields out, and the bytes between the
// others are then pointers to objects, though the format calls them padding: so `x`, padding alone, is not accepted either.

/// The common type of all elements of a buffer.
#[derive(Clone, Copy)]
struct Element {
    kind: Kind,
    /// The size in bytes that the format states.
    bytes: usize,
    /// Whether the bytes have the order of this machine.
    is_native: bool,
}

/// The kinds of elements. Any bits are a value of each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Signed,
    Unsigned,
    Float,
    /// Half floats, long floats, complex numbers, strings of bytes: bytes and no more.
    Other,
}

impl Element {
    /// The element that a format states. `None` for another element, or for several.
    fn of(format: &[u8]) -> Option<Self> {
        let (order, rest) = match format {
            [order @ (b'@' | b'=' | b'<' | b'>' | b'!' | b'^'), rest @ ..] => (*order, rest),
            rest => (b'@', rest),
        };
        // The sizes of C, or the standard ones.
        let is_of_c = matches!(order, b'@' | b'^');
        let size = |of_c, standard| if is_of_c { of_c } else { standard };
        let (kind, bytes) = match rest {
            b"b" => (Kind::Signed, 1),
            b"B" => (Kind::Unsigned, 1),
            b"h" => (Kind::Signed, size(size_of::<c_short>(), 2)),
            b"H" => (Kind::Unsigned, size(size_of::<c_short>(), 2)),
            b"i" => (Kind::Signed, size(size_of::<c_int>(), 4)),
            b"I" => (Kind::Unsigned, size(size_of::<c_int>(), 4)),
            b"l" => (Kind::Signed, size(size_of::<c_long>(), 4)),
            b"L" => (Kind::Unsigned, size(size_of::<c_long>(), 4)),
            b"q" => (Kind::Signed, 8),
            b"Q" => (Kind::Unsigned, 8),
            b"n" if is_of_c => (Kind::Signed, size_of::<isize>()),
            b"N" if is_of_c => (Kind::Unsigned, size_of::<usize>()),
            b"f" => (Kind::Float, 4),
            b"d" => (Kind::Float, 8),
            b"e" => (Kind::Other, 2),
            b"g" => (Kind::Other, LONG_DOUBLE_BYTES),
            b"Zf" => (Kind::Other, 8),
            b"Zd" => (Kind::Other, 16),
            b"Zg" => (Kind::Other, 2 * LONG_DOUBLE_BYTES),
            b"c" => (Kind::Other, 1),
            [count @ .., b's'] => (Kind::Other, number(count)?),
            _ => return None,
        };
        let is_foreign = if cfg!(target_endian = "little") {
            matches!(order, b'>' | b'!')
        } else {
            order == b'<'
        };
        Some(Self {
            kind,
            bytes,
            is_native: !is_foreign,
        })
    }
}

/// The size of C's long double: on Linux 16 bytes on all processors with 64 bits.
const LONG_DOUBLE_BYTES: usize = 16;

/// A number of digits alone, and 1 where there are none.
fn number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() {
        return Some(1);
    }
    let is_number = digits.iter().all(u8::is_ascii_digit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    digits.parse().ok()
}
