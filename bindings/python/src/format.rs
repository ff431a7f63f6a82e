//! The format of a buffer (PEP 3118 and the module struct of Python), as far as one number or string of bytes.
//!
//! A record, `T{i:a:d:b:}`, is none. ctypes writes the names of fields as they are, and a name may hold colons: so no
//! reader can tell which part of such a format is a type. A record of NumPy may leave fields out, and the bytes between the
//! others are then pointers to objects, though the format calls them padding: so `x`, padding alone, is none either.

use std::ffi::{c_int, c_long, c_short};

/// The common type of all elements of a buffer.
#[derive(Clone, Copy)]
pub(crate) struct Element {
    pub(crate) kind: Kind,
    /// The size in bytes that the format states.
    pub(crate) bytes: usize,
    /// Whether the bytes have the order of this machine.
    pub(crate) is_native: bool,
}

/// Of each, any bits are a value.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Signed,
    Unsigned,
    Float,
    /// Half floats, long floats, complex numbers, strings of bytes: bytes and no more.
    Other,
}

impl Element {
    /// The element that a format states. `None`: it is none of these, or there are several.
    pub(crate) fn of(format: &[u8]) -> Option<Self> {
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
