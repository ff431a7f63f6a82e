//! The common parts of both algorithms: contexts, their states and parameters, and the calls that need nothing else.

use crate::abi::{
    self, Dispatch, INTEGER, NO, Param, UNSIGNED_INTEGER, UTF8_POINTER, YES, functions,
};
use core::alloc::Layout;
use core::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use core::sync::atomic::{AtomicI32, Ordering};
use core::{ptr, slice};
use std::alloc::{alloc, dealloc};
use wellspring::Engine;
use wellspring_interpose::door_counters::{Door, count_failure};
use wellspring_interpose::repeat;

/// The strength of a generator, in bits, with AES-256 and with ChaCha20.
const STRENGTH_BITS: c_uint = 256;

/// The most bytes of one call. OpenSSL divides longer requests.
const MAX_REQUEST_BYTES: usize = 1 << 30;

/// The memory of a generator that OpenSSL made: its state only. All threads share the generator that OpenSSL makes for
/// itself.
struct Context {
    state: AtomicI32,
}

/// The functions that both algorithms have.
pub(crate) const COMMON: [Dispatch; 11] = functions! {
    RAND_NEWCTX: abi::NewContext = new_context,
    RAND_FREECTX: abi::FreeContext = free_context,
    RAND_INSTANTIATE: abi::Instantiate = instantiate,
    RAND_UNINSTANTIATE: abi::Simple = uninstantiate,
    RAND_NONCE: abi::Nonce = nonce,
    RAND_ENABLE_LOCKING: abi::Simple = yes,
    RAND_LOCK: abi::Simple = yes,
    RAND_UNLOCK: abi::FreeContext = unlock,
    RAND_GETTABLE_CTX_PARAMS: abi::Gettable = gettable,
    RAND_GET_CTX_PARAMS: abi::GetParams = get_params,
    RAND_VERIFY_ZEROIZATION: abi::Simple = yes,
};

/// The number of entries in the table of an algorithm that has `own` functions beside the common ones.
pub(crate) const fn entries(own: usize) -> usize {
    COMMON.len() + own + 1
}

/// Returns the caller's memory, if a context may now give this many bytes of this strength.
///
/// # Safety
///
/// `context` is null or a context that lives. `destination` is null or has `length` bytes that may be written.
pub(crate) unsafe fn granted<'a>(
    context: *mut c_void,
    destination: *mut c_uchar,
    length: usize,
    strength: c_uint,
) -> Option<&'a mut [u8]> {
    // SAFETY: the same contract.
    let context = unsafe { context.cast::<Context>().as_ref() }?;
    let is_ready = context.state.load(Ordering::Acquire) == abi::STATE_READY;
    if !is_ready || length > MAX_REQUEST_BYTES {
        return None;
    }
    // SAFETY: the same contract.
    unsafe { caller_bytes(destination, length, strength) }
}

/// Returns the caller's memory, if its bytes may have this strength.
///
/// # Safety
///
/// `destination` is null or has `length` bytes that may be written.
#[inline(always)]
pub(crate) unsafe fn caller_bytes<'a>(
    destination: *mut c_uchar,
    length: usize,
    strength: c_uint,
) -> Option<&'a mut [u8]> {
    if strength > STRENGTH_BITS || isize::try_from(length).is_err() {
        return None;
    }
    if length == 0 {
        return Some(&mut []);
    }
    // SAFETY: the same contract, and the checks above.
    (!destination.is_null()).then(|| unsafe { slice::from_raw_parts_mut(destination, length) })
}

/// Without memory it returns null, which OpenSSL reports; `Box` would end the process.
extern "C" fn new_context(_: *mut c_void, _: *mut c_void, _: *const Dispatch) -> *mut c_void {
    // SAFETY: the size is not zero.
    let context: *mut Context = unsafe { alloc(Layout::new::<Context>()) }.cast();
    if context.is_null() {
        return ptr::null_mut();
    }
    let state = AtomicI32::new(abi::STATE_UNINITIALISED);
    // SAFETY: fresh memory of the right layout.
    unsafe { context.write(Context { state }) };
    context.cast()
}

/// # Safety
///
/// `context` is null, or from [`new_context`] and not freed before.
unsafe extern "C" fn free_context(context: *mut c_void) {
    if !context.is_null() {
        // SAFETY: the same contract.
        unsafe { dealloc(context.cast(), Layout::new::<Context>()) };
    }
}

/// # Safety
///
/// `context` is null or a context that lives.
unsafe fn set_state(context: *mut c_void, state: c_int) -> c_int {
    // SAFETY: the same contract.
    match unsafe { context.cast::<Context>().as_ref() } {
        Some(context) => {
            context.state.store(state, Ordering::Release);
            YES
        }
        None => NO,
    }
}

/// Succeeds also without an engine, and makes one if it can. A request then fails, which OpenSSL 3 reports: but if a seed source
/// cannot be instantiated, OpenSSL up to 3.6 takes the system's seed without a word.
///
/// # Safety
///
/// `context` is null or a context that lives.
unsafe extern "C" fn instantiate(
    context: *mut c_void,
    strength: c_uint,
    _prediction_resistance: c_int,
    personal: *const c_uchar,
    length: usize,
    _: *const Param,
) -> c_int {
    // SAFETY: OpenSSL's contract for this function.
    unsafe {
        let is_ready = strength <= STRENGTH_BITS;
        let _ = Engine::try_process();
        mix(personal, length);
        let state = if is_ready {
            abi::STATE_READY
        } else {
            abi::STATE_ERROR
        };
        set_state(context, state) & c_int::from(is_ready)
    }
}

/// # Safety
///
/// `context` is null or a context that lives.
unsafe extern "C" fn uninstantiate(context: *mut c_void) -> c_int {
    // SAFETY: the same contract.
    unsafe { set_state(context, abi::STATE_UNINITIALISED) }
}

/// # Safety
///
/// `destination` is null, or has as many bytes that may be written as a call with a null `destination` returned.
unsafe extern "C" fn nonce(
    _: *mut c_void,
    destination: *mut c_uchar,
    strength: c_uint,
    least: usize,
    most: usize,
) -> usize {
    // OpenSSL asks for the length first, with a null pointer, and refuses a second answer that differs.
    let length = least.max(strength as usize / 8).max(1).min(most);
    if destination.is_null() || length == 0 {
        return length;
    }
    // SAFETY: the caller has as many bytes as the first answer said, or `most`.
    let bytes = unsafe { slice::from_raw_parts_mut(destination, length) };
    let is_filled = repeat::fill(bytes)
        || Engine::try_process().is_ok_and(|engine| engine.try_fill(bytes).is_ok());
    if is_filled {
        return length;
    }
    // For a generator whose seed source this is.
    count_failure(Door::ProviderSeed);
    0
}

/// Succeeds and does nothing: a context needs no lock, and has no secret to erase.
///
/// # Safety
///
/// None needed; OpenSSL's type.
unsafe extern "C" fn yes(_: *mut c_void) -> c_int {
    YES
}

/// # Safety
///
/// None needed; OpenSSL's type.
unsafe extern "C" fn unlock(_: *mut c_void) {}

static GETTABLE: [Param; 5] = [
    asks(c"state", abi::INTEGER),
    asks(c"strength", abi::UNSIGNED_INTEGER),
    asks(c"max_request", abi::UNSIGNED_INTEGER),
    asks(c"reseed_counter", abi::UNSIGNED_INTEGER),
    END,
];

extern "C" fn gettable(_: *mut c_void, _: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

/// # Safety
///
/// `context` is null or a context that lives. `params` is null or a list of OpenSSL, which ends with a null key.
unsafe extern "C" fn get_params(context: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the same contract.
    let Some(context) = (unsafe { context.cast::<Context>().as_ref() }) else {
        return NO;
    };
    let answer = |key: &CStr| match key.to_bytes() {
        b"state" => Some(Answer::Number(context.state.load(Ordering::Acquire) as u64)),
        b"strength" => Some(Answer::Number(u64::from(STRENGTH_BITS))),
        b"max_request" => Some(Answer::Number(MAX_REQUEST_BYTES as u64)),
        b"reseed_counter" => Engine::try_process()
            .ok()
            .map(|engine| Answer::Number(engine.generation())),
        _ => None,
    };
    // SAFETY: the same contract.
    c_int::from(unsafe { answer_all(params, answer) })
}

/// Mixes the program's own data into the pools, without credit.
///
/// # Safety
///
/// `data` is null or has `length` bytes.
pub(crate) unsafe fn mix(data: *const c_uchar, length: usize) {
    if data.is_null() || length == 0 {
        return;
    }
    if let Ok(engine) = Engine::try_process() {
        // SAFETY: not null; the caller's promise.
        engine.mix(unsafe { slice::from_raw_parts(data, length) });
    }
}

// ---- parameters ----

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
