//! An object of Python with memory that is written to: a bytearray, an array, a NumPy array.

use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
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
                "{name} has no memory that can be written to: no buffer of at least one dimension"
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
    #[allow(
        clippy::mut_from_ref,
        reason = "the memory belongs to Python, which allows many writers"
    )]
    pub(crate) fn bytes(&self) -> &mut [u8] {
        self.slice()
    }

    /// The elements, by the format that the object states.
    pub(crate) fn elements(&self, name: &str) -> PyResult<Elements<'_>> {
        let format = self.memory.format();
        let is_foreign_order = match format.to_bytes() {
            [b'>' | b'!', _] => cfg!(target_endian = "little"),
            [b'<', _] => cfg!(target_endian = "big"),
            _ => false,
        };
        let kind = ElementType::from_format(format);
        let elements = match kind {
            _ if is_foreign_order => None,
            ElementType::Float { bytes: 4 } => Some(Elements::F32(self.typed(name)?)),
            ElementType::Float { bytes: 8 } => Some(Elements::F64(self.typed(name)?)),
            ElementType::SignedInteger { bytes: 1 } => Some(Elements::I8(self.typed(name)?)),
            ElementType::SignedInteger { bytes: 2 } => Some(Elements::I16(self.typed(name)?)),
            ElementType::SignedInteger { bytes: 4 } => Some(Elements::I32(self.typed(name)?)),
            ElementType::SignedInteger { bytes: 8 } => Some(Elements::I64(self.typed(name)?)),
            ElementType::UnsignedInteger { bytes: 1 } => Some(Elements::U8(self.typed(name)?)),
            ElementType::UnsignedInteger { bytes: 2 } => Some(Elements::U16(self.typed(name)?)),
            ElementType::UnsignedInteger { bytes: 4 } => Some(Elements::U32(self.typed(name)?)),
            ElementType::UnsignedInteger { bytes: 8 } => Some(Elements::U64(self.typed(name)?)),
            _ => None,
        };
        elements.ok_or_else(|| {
            let format = format.to_string_lossy();
            PyTypeError::new_err(format!("{name} has elements of the format '{format}'"))
        })
    }

    #[allow(clippy::mut_from_ref, reason = "as of bytes")]
    fn typed<T: Number>(&self, name: &str) -> PyResult<&mut [T]> {
        let is_aligned = self.memory.buf_ptr().cast::<T>().is_aligned();
        if self.memory.item_size() != size_of::<T>() || !is_aligned {
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

/// The types for which any bits are a value.
trait Number {}

macro_rules! number {
    ($($type:ident),*) => {$(impl Number for $type {})*};
}

number!(f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);
