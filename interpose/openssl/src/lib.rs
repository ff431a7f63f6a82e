//! An OpenSSL 3 provider with two random generators.
//!
//! ```text
//! abi         OpenSSL's numbers and types, as in its core_dispatch.h and core.h
//! context     the common part of both algorithms: contexts, their states and parameters
//! generators  WELLSPRING: OpenSSL's generators are taps of the engine; WELLSPRING-SEED: a seed source beneath OpenSSL's own
//! ```
//!
//! Here are OSSL_provider_init, the list of algorithms, and the provider's name, version and status.
//!
//! OpenSSL makes one context for itself and two for each thread. A context here holds its state and nothing else: the
//! bytes come from the tap of the calling thread. So any thread may use any context without a lock, and a child process
//! never repeats its parent, even if OpenSSL does not notice the fork.

mod abi;
mod context;
mod generators;

use crate::abi::{Algorithm, Dispatch, NO, Param, YES, functions, table};
use crate::context::{Answer, answer_all, asks};
use crate::generators::random_bytes;
use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use wellspring_interpose::door_counters::{self, VARIABLE, variable};
use wellspring_interpose::repeat;

/// The algorithms, with the property that a configuration can ask for.
static ALGORITHMS: [Algorithm; 3] = [
    Algorithm {
        names: c"WELLSPRING".as_ptr(),
        properties: c"provider=wellspring".as_ptr(),
        functions: generators::GENERATOR.as_ptr(),
        description: c"Fortuna, a tap for each thread".as_ptr(),
    },
    Algorithm {
        names: c"WELLSPRING-SEED".as_ptr(),
        properties: c"provider=wellspring".as_ptr(),
        functions: generators::SEED.as_ptr(),
        description: c"Fortuna as a seed source".as_ptr(),
    },
    Algorithm {
        names: ptr::null(),
        properties: ptr::null(),
        functions: ptr::null(),
        description: ptr::null(),
    },
];

type Query = unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> *const Algorithm;
type Teardown = extern "C" fn(*mut c_void);
type Gettable = extern "C" fn(*mut c_void) -> *const Param;

static FUNCTIONS: [Dispatch; 6] = table(
    &[],
    &functions! {
        TEARDOWN: Teardown = teardown,
        GETTABLE_PARAMS: Gettable = gettable,
        GET_PARAMS: abi::GetParams = get_params,
        QUERY_OPERATION: Query = query,
        RANDOM_BYTES: abi::RandomBytes = random_bytes,
    },
);

/// Finds what `wellspring run` asks for: the seed, if the program is to draw the same bytes in every run, and the page of
/// counters.
fn obey_run() {
    if let Some(path) = variable(repeat::VARIABLE)
        && repeat::start(path, repeat::Library::Provider).is_err()
    {
        repeat::refuse();
    }
    if let Some(path) = variable(VARIABLE)
        && let Some(counters) = door_counters::start(path)
    {
        counters.count_provider();
    }
}

/// The entry point: OpenSSL calls it when it loads the provider. Writes the provider's table of functions to `out`.
///
/// # Safety
///
/// `out` and `context` are null or may be written.
#[allow(non_snake_case, reason = "OpenSSL's name")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    _handle: *const c_void,
    _in: *const c_void,
    out: *mut *const c_void,
    context: *mut *mut c_void,
) -> c_int {
    if out.is_null() || context.is_null() {
        return NO;
    }
    obey_run();
    // SAFETY: not null; the caller's promise.
    unsafe {
        out.write(FUNCTIONS.as_ptr().cast());
        // OpenSSL wants a context that is not null. This one points to nothing and is never read.
        context.write(ptr::dangling_mut());
    }
    YES
}

extern "C" fn teardown(_: *mut c_void) {}

/// # Safety
///
/// `no_cache` is null or may be written.
unsafe extern "C" fn query(
    _: *mut c_void,
    operation: c_int,
    no_cache: *mut c_int,
) -> *const Algorithm {
    if !no_cache.is_null() {
        // SAFETY: not null; the caller's promise.
        unsafe { no_cache.write(0) };
    }
    if operation == abi::OP_RAND {
        ALGORITHMS.as_ptr()
    } else {
        ptr::null()
    }
}

static GETTABLE: [Param; 4] = [
    asks(c"name", abi::UTF8_POINTER),
    asks(c"version", abi::UTF8_POINTER),
    asks(c"status", abi::INTEGER),
    crate::context::END,
];

extern "C" fn gettable(_: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version without a zero byte"),
    };

/// # Safety
///
/// `params` is a list of OpenSSL.
unsafe extern "C" fn get_params(_: *mut c_void, params: *mut Param) -> c_int {
    let answer = |key: &CStr| match key.to_bytes() {
        b"name" => Some(Answer::Text(c"wellspring")),
        b"version" | b"buildinfo" => Some(Answer::Text(VERSION)),
        b"status" => Some(Answer::Number(1)),
        _ => None,
    };
    // SAFETY: the same contract.
    c_int::from(unsafe { answer_all(params, answer) })
}
