//! OpenSSL's numbers and types, as in its core_dispatch.h and core.h. They do not change in OpenSSL 3. A test compares
//! all of them with the headers, because OpenSSL does not report a wrong number.

use core::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

/// A function and its number. A table ends with number 0.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Dispatch {
    pub(crate) number: c_int,
    pub(crate) function: *const c_void,
}

// SAFETY: the pointers are to functions.
unsafe impl Sync for Dispatch {}

impl Dispatch {
    pub(crate) const END: Self = Self {
        number: 0,
        function: core::ptr::null(),
    };
}

/// Entries of a table: the name of each number, the type of its function in OpenSSL, and our function.
macro_rules! functions {
    ($($number:ident: $kind:ty = $function:ident,)*) => {
        [$($crate::abi::Dispatch {
            number: $crate::abi::$number,
            function: $function as $kind as *const core::ffi::c_void,
        }),*]
    };
}
pub(crate) use functions;

/// A table of functions: the common ones, the own ones, and the end. `ALL` is the number of its entries.
pub(crate) const fn table<const ALL: usize>(
    common: &[Dispatch],
    own: &[Dispatch],
) -> [Dispatch; ALL] {
    assert!(ALL == common.len() + own.len() + 1);
    let mut table = [Dispatch::END; ALL];
    let mut index = 0;
    while index < ALL - 1 {
        table[index] = if index < common.len() {
            common[index]
        } else {
            own[index - common.len()]
        };
        index += 1;
    }
    table
}

/// An algorithm and its functions. A table ends with null names.
#[repr(C)]
pub(crate) struct Algorithm {
    pub(crate) names: *const c_char,
    pub(crate) properties: *const c_char,
    pub(crate) functions: *const Dispatch,
    pub(crate) description: *const c_char,
}

// SAFETY: the pointers are to statics that never change.
unsafe impl Sync for Algorithm {}

/// A parameter that OpenSSL asks for, with a place for the value, or the name and type of a parameter that it can ask for. A
/// table ends with a null key.
#[repr(C)]
pub(crate) struct Param {
    pub(crate) key: *const c_char,
    pub(crate) data_type: c_uint,
    pub(crate) data: *mut c_void,
    pub(crate) data_size: usize,
    pub(crate) return_size: usize,
}

// SAFETY: a `Param` in a static points to statics that never change.
unsafe impl Sync for Param {}

pub(crate) const INTEGER: c_uint = 1;
pub(crate) const UNSIGNED_INTEGER: c_uint = 2;
pub(crate) const UTF8_POINTER: c_uint = 6;

pub(crate) const OP_RAND: c_int = 5;

pub(crate) const TEARDOWN: c_int = 1024;
pub(crate) const GETTABLE_PARAMS: c_int = 1025;
pub(crate) const GET_PARAMS: c_int = 1026;
pub(crate) const QUERY_OPERATION: c_int = 1027;
/// Since OpenSSL 3.5. Older versions ignore it.
pub(crate) const RANDOM_BYTES: c_int = 1032;

pub(crate) const RAND_NEWCTX: c_int = 1;
pub(crate) const RAND_FREECTX: c_int = 2;
pub(crate) const RAND_INSTANTIATE: c_int = 3;
pub(crate) const RAND_UNINSTANTIATE: c_int = 4;
pub(crate) const RAND_GENERATE: c_int = 5;
pub(crate) const RAND_RESEED: c_int = 6;
pub(crate) const RAND_NONCE: c_int = 7;
pub(crate) const RAND_ENABLE_LOCKING: c_int = 8;
pub(crate) const RAND_LOCK: c_int = 9;
pub(crate) const RAND_UNLOCK: c_int = 10;
pub(crate) const RAND_GETTABLE_CTX_PARAMS: c_int = 12;
pub(crate) const RAND_GET_CTX_PARAMS: c_int = 15;
pub(crate) const RAND_VERIFY_ZEROIZATION: c_int = 17;
pub(crate) const RAND_GET_SEED: c_int = 18;
pub(crate) const RAND_CLEAR_SEED: c_int = 19;

pub(crate) const STATE_UNINITIALISED: c_int = 0;
pub(crate) const STATE_READY: c_int = 1;
pub(crate) const STATE_ERROR: c_int = 2;

/// The results of a generator's functions: success, and failure.
pub(crate) const YES: c_int = 1;
pub(crate) const NO: c_int = 0;

pub(crate) type NewContext =
    extern "C" fn(*mut c_void, *mut c_void, *const Dispatch) -> *mut c_void;
pub(crate) type FreeContext = unsafe extern "C" fn(*mut c_void);
pub(crate) type Instantiate =
    unsafe extern "C" fn(*mut c_void, c_uint, c_int, *const c_uchar, usize, *const Param) -> c_int;
pub(crate) type Simple = unsafe extern "C" fn(*mut c_void) -> c_int;
pub(crate) type Generate = unsafe extern "C" fn(
    *mut c_void,
    *mut c_uchar,
    usize,
    c_uint,
    c_int,
    *const c_uchar,
    usize,
) -> c_int;
pub(crate) type Reseed =
    unsafe extern "C" fn(*mut c_void, c_int, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
pub(crate) type RandomBytes =
    unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, usize, c_uint) -> c_int;
pub(crate) type Nonce =
    unsafe extern "C" fn(*mut c_void, *mut c_uchar, c_uint, usize, usize) -> usize;
pub(crate) type GetSeed = unsafe extern "C" fn(
    *mut c_void,
    *mut *mut c_uchar,
    c_int,
    usize,
    usize,
    c_int,
    *const c_uchar,
    usize,
) -> usize;
pub(crate) type ClearSeed = unsafe extern "C" fn(*mut c_void, *mut c_uchar, usize);
pub(crate) type Gettable = extern "C" fn(*mut c_void, *mut c_void) -> *const Param;
pub(crate) type GetParams = unsafe extern "C" fn(*mut c_void, *mut Param) -> c_int;
