//! The numbers that functions return.

use core::ffi::{CStr, c_char, c_int};

/// Success.
pub const WS_OK: c_int = 0;
/// The generator has no seed yet: the sources have yielded less than 128 bits of credited noise, and this call does not
/// wait, or the system refuses random bytes to this process.
pub const WS_NOT_SEEDED: c_int = 1;
/// There is no memory for a generator. A later call tries again.
pub const WS_NO_MEMORY: c_int = 2;
/// A pointer is null although the length is not 0, or although the function needs an object there.
pub const WS_NULL: c_int = 3;
/// A length is above PTRDIFF_MAX, or an array goes past its last index.
pub const WS_TOO_LONG: c_int = 4;
/// No algorithm of streams has this name, or it has no elements.
pub const WS_NO_ALGORITHM: c_int = 5;
/// Another error of the generator. A later version may have a number for it.
pub const WS_FAILED: c_int = 6;
/// The distribution does not have such a parameter.
pub const WS_PARAMETER: c_int = 7;

/// Returns the meaning of an error number as a text. The text is static: do not free it. A number that no function
/// returns gives "unknown error number".
#[unsafe(no_mangle)]
pub extern "C" fn ws_strerror(error: c_int) -> *const c_char {
    text(error).as_ptr()
}

fn text(error: c_int) -> &'static CStr {
    match error {
        WS_OK => c"success",
        WS_NOT_SEEDED => {
            c"not seeded yet: the sources have yielded less than 128 bits of credited noise"
        }
        WS_NO_MEMORY => c"out of memory",
        WS_NULL => c"a pointer is null",
        WS_TOO_LONG => c"a length is above PTRDIFF_MAX, or an array goes past its last index",
        WS_NO_ALGORITHM => c"no algorithm of streams has this name, or it has no elements",
        WS_FAILED => c"an error of the engine",
        WS_PARAMETER => c"the distribution does not have such a parameter",
        _ => c"unknown error number",
    }
}

/// The number of an engine's error.
pub(crate) fn number(error: wellspring::Error) -> c_int {
    match error {
        wellspring::Error::NotSeeded => WS_NOT_SEEDED,
        wellspring::Error::Memory => WS_NO_MEMORY,
        _ => WS_FAILED,
    }
}

/// The number of a result.
pub(crate) fn of(result: Result<(), c_int>) -> c_int {
    match result {
        Ok(()) => WS_OK,
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_text_of_its_own() {
        let texts: Vec<_> = (WS_OK..=WS_PARAMETER).map(text).collect();
        for (index, one) in texts.iter().enumerate() {
            assert!(!texts[..index].contains(one), "{one:?}");
            assert_ne!(*one, text(-1));
        }
        assert_eq!(text(WS_PARAMETER + 1), text(c_int::MIN));
    }
}
