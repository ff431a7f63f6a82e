//! The parameters of a generator that OpenSSL can ask for.

use crate::abi::{INTEGER, Param, UNSIGNED_INTEGER, UTF8_POINTER};
use core::ffi::{CStr, c_char, c_uint};
use core::ptr;

/// An entry in the list of parameters that OpenSSL can ask for.
pub(crate) const fn asks(key: &'static CStr, data_type: c_uint) -> Param {
    Param {
        key: key.as_ptr(),
        data_type,
        data: ptr::null_mut(),
        data_size: 0,
        return_size: usize::MAX,
    }
}

/// The end of a list.
pub(crate) const END: Param = Param {
    key: ptr::null(),
    data_type: 0,
    data: ptr::null_mut(),
    data_size: 0,
    return_size: 0,
};

/// The value of a parameter.
pub(crate) enum Answer {
    Number(u64),
    Text(&'static CStr),
}

/// Writes the value of each parameter in the list that `answer` knows. Returns false if the place for a value is too
/// small or has another type.
///
/// # Safety
///
/// `list` is null or a list that ends with a null key, with places that may be written.
pub(crate) unsafe fn answer_all(
    mut list: *mut Param,
    answer: impl Fn(&CStr) -> Option<Answer>,
) -> bool {
    if list.is_null() {
        return true;
    }
    loop {
        // SAFETY: an entry of the list; the last one is the end.
        let param = unsafe { &mut *list };
        if param.key.is_null() {
            return true;
        }
        // SAFETY: a string of OpenSSL.
        let key = unsafe { CStr::from_ptr(param.key) };
        let is_answered = match answer(key) {
            None => true,
            // SAFETY: the caller's promise.
            Some(answer) => unsafe { write(param, &answer) },
        };
        if !is_answered {
            return false;
        }
        // SAFETY: there is another entry, at least the end.
        list = unsafe { list.add(1) };
    }
}

/// # Safety
///
/// The place in `param` is null or has its size.
unsafe fn write(param: &mut Param, answer: &Answer) -> bool {
    match (param.data_type, answer) {
        (INTEGER | UNSIGNED_INTEGER, Answer::Number(number)) => {
            let size = param.data_size;
            if param.data.is_null() {
                param.return_size = 8;
                return true;
            }
            if size != 4 && size != 8 {
                return false;
            }
            let is_small = param.data_type == INTEGER && size == 4;
            let most = if is_small {
                i32::MAX as u64
            } else if size == 4 {
                u64::from(u32::MAX)
            } else {
                u64::MAX
            };
            // A limit that does not fit does not limit the caller either.
            let number = (*number).min(most);
            param.return_size = size;
            // SAFETY: the place has this size; OpenSSL does not promise its alignment.
            unsafe {
                if size == 4 {
                    param.data.cast::<u32>().write_unaligned(number as u32);
                } else {
                    param.data.cast::<u64>().write_unaligned(number);
                }
            }
            true
        }
        (UTF8_POINTER, Answer::Text(text)) => {
            param.return_size = text.count_bytes();
            if !param.data.is_null() {
                // SAFETY: the place is for a pointer.
                unsafe { param.data.cast::<*const c_char>().write(text.as_ptr()) };
            }
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(data_type: c_uint, bytes: &mut [u8], number: u64) -> bool {
        let entry = |key: &'static CStr, data, data_size| Param {
            key: key.as_ptr(),
            data_type,
            data,
            data_size,
            return_size: usize::MAX,
        };
        let mut list = [
            entry(c"other", ptr::null_mut(), 0),
            entry(c"state", bytes.as_mut_ptr().cast(), bytes.len()),
            END,
        ];
        let answer = |key: &CStr| (key == c"state").then_some(Answer::Number(number));
        // SAFETY: the list ends, and its place is `bytes`.
        let done = unsafe { answer_all(list.as_mut_ptr(), answer) };
        if done {
            assert_eq!(list[1].return_size, bytes.len());
            assert_eq!(list[0].return_size, usize::MAX, "not ours to answer");
        }
        done
    }

    #[test]
    fn numbers_fit_into_four_and_eight_bytes_and_into_nothing_else() {
        let mut eight = [0xA5; 8];
        assert!(ask(UNSIGNED_INTEGER, &mut eight, 7 << 40));
        assert_eq!(eight, (7u64 << 40).to_ne_bytes());
        let mut four = [0xA5; 4];
        assert!(ask(INTEGER, &mut four, u64::MAX));
        assert_eq!(four, i32::MAX.to_ne_bytes());
        assert!(ask(UNSIGNED_INTEGER, &mut four, u64::MAX));
        assert_eq!(four, u32::MAX.to_ne_bytes());
        assert!(!ask(UNSIGNED_INTEGER, &mut [0; 2], 1));
        assert!(!ask(UTF8_POINTER, &mut eight, 1));
    }

    #[test]
    fn no_list_is_answered() {
        // SAFETY: null is allowed.
        assert!(unsafe { answer_all(ptr::null_mut(), |_| None) });
    }
}
