//! Arrays for JAX on CPUs: a handler for the foreign function interface of XLA, which compiles and runs JAX's programs.
//!
//! The structs are the part of `xla/ffi/api/c_api.h` that the handler reads, version 0.3: jaxlib ships the header and promises a
//! stable binary interface, whose structs grow at their ends alone. XLA calls the handler on threads of its own, without Python.
//!
//! The call: a key of 8 words of 32 bits, the index of the first element, and one array, `plan`, which is known when the program
//! is compiled: the method, the elements of a run, and the outer dimensions of the block, as pairs of a count and a step. `vmap`
//! puts the same outer dimensions before all three arrays: a row is a call of its own.

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use wellspring_pseudo::{Algorithm, Elements};

use crate::block::{ALL, Block};
use crate::elements::{fill_words, from_halves};

/// The handler, as JAX takes it: a capsule without a name.
#[pyfunction]
pub(crate) fn xla_handler(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let handler: extern "C" fn(*mut CallFrame) -> *mut c_void = handle;
    // SAFETY: the pointer is not null, and a function stays where it is. The call returns a new reference, or null with an
    // exception.
    unsafe {
        let capsule = ffi::PyCapsule_New(handler as *mut c_void, std::ptr::null(), None);
        Bound::from_owned_ptr_or_err(py, capsule)
            .map_err(|_| PyRuntimeError::new_err("no memory for a capsule"))
    }
}

/// XLA asks once for the version of the interface, and then calls for arrays. Null is success.
extern "C" fn handle(frame: *mut CallFrame) -> *mut c_void {
    // SAFETY: XLA gives a frame that lives as long as the call, and nothing else writes to it meanwhile.
    let Some(frame) = (unsafe { frame.as_mut() }) else {
        return std::ptr::null_mut();
    };
    if tell_version(frame) {
        return std::ptr::null_mut();
    }
    let made = catch_unwind(AssertUnwindSafe(|| make(frame)));
    match made.unwrap_or(Err(c"wellspring: the call panicked")) {
        Ok(()) => std::ptr::null_mut(),
        Err(reason) => {
            let mut error = ErrorArguments {
                struct_size: size_of::<ErrorArguments>(),
                extension: std::ptr::null(),
                message: reason.as_ptr(),
                code: INVALID_ARGUMENT,
            };
            // SAFETY: XLA's table of functions is complete up to this one since version 0.0, and the function copies the text.
            unsafe { ((*frame.api).create_error)(&raw mut error) }
        }
    }
}

/// Answers, if the question is which version the handler has.
fn tell_version(frame: &CallFrame) -> bool {
    // SAFETY: an extension begins with its type, and lives as long as the frame.
    let is_question = unsafe { frame.extension.as_ref() }.is_some_and(|own| own.kind == METADATA);
    if is_question {
        // SAFETY: an extension of this type has this struct behind it, for the answer.
        unsafe {
            let metadata = (*frame.extension.cast::<MetadataExtension>()).metadata;
            (*metadata).major = 0;
            (*metadata).minor = 3;
            (*metadata).traits = 0;
        }
    }
    is_question
}

type Refused = &'static std::ffi::CStr;

const METHOD_BITS: i64 = 0;
const METHOD_RANDOM: i64 = 1;
const METHOD_NORMAL: i64 = 2;

/// Fills the array of a call.
fn make(frame: &CallFrame) -> Result<(), Refused> {
    let is_call = frame.struct_size >= size_of::<CallFrame>() && frame.stage == EXECUTE;
    if !is_call || frame.arguments.size != 2 || frame.results.size != 1 {
        return Err(c"wellspring: not a call for an array");
    }
    let plan = plan_of(&frame.attributes).ok_or(c"wellspring: no plan")?;
    let [method, run, outer @ ..] = plan else {
        return Err(c"wellspring: the plan is too short");
    };
    // SAFETY: the sizes say that there are two buffers and one buffer, which live as long as the frame.
    let (key, origin, out) = unsafe {
        let (arguments, results) = (frame.arguments.items, frame.results.items);
        (&**arguments, &**arguments.add(1), &**results)
    };
    let keys = key.numbers::<[u32; 8]>(U32, 8)?;
    let origins = origin.numbers::<i64>(S64, 1)?;
    let outer: Vec<(usize, u64)> = outer
        .as_chunks()
        .0
        .iter()
        .map(|[count, step]| (count.cast_unsigned() as usize, step.cast_unsigned()))
        .collect();
    let length = outer
        .iter()
        .map(|(count, _)| *count)
        .try_fold(run.cast_unsigned() as usize, usize::checked_mul)
        .ok_or(c"wellspring: the array is too long")?;
    if keys.len() != origins.len() || length.checked_mul(keys.len()) != Some(out.count()) {
        return Err(c"wellspring: the array does not have the shape of the plan");
    }
    for (row, (key, origin)) in keys.iter().zip(origins).enumerate() {
        let elements = Elements::from_words(Algorithm::ChaCha8, from_halves(*key))
            .map_err(|_| c"wellspring: no counter")?;
        let block = Block::new((origin.cast_unsigned(), outer.clone()), length)
            .map_err(|_| c"wellspring: the last index is above 2^64 - 1")?;
        let place = row * length..(row + 1) * length;
        macro_rules! fill {
            ($type:ty, $method:ident) => {
                block.fill(&mut out.places::<$type>()[place], ALL, |_, first, piece| {
                    let made = elements.$method(first, piece);
                    made.expect("the indices of a block were checked");
                })
            };
        }
        match (*method, out.kind) {
            (METHOD_BITS, U32) => {
                fill_words(&elements, &block, &mut out.places::<[u8; 4]>()[place], ALL)
            }
            (METHOD_BITS, U64) => {
                fill_words(&elements, &block, &mut out.places::<[u8; 8]>()[place], ALL)
            }
            (METHOD_RANDOM, F32) => fill!(f32, uniform),
            (METHOD_RANDOM, F64) => fill!(f64, uniform),
            (METHOD_NORMAL, F32) => fill!(f32, standard_normal),
            (METHOD_NORMAL, F64) => fill!(f64, standard_normal),
            _ => return Err(c"wellspring: no such method and type"),
        }
    }
    Ok(())
}

/// The one attribute, an array of int64.
fn plan_of(attributes: &Attributes) -> Option<&[i64]> {
    if attributes.size != 1 {
        return None;
    }
    // SAFETY: the size says that there is one attribute, and its type says which struct it has. XLA keeps all of it, and the
    // numbers, as long as the frame.
    unsafe {
        if *attributes.types != ARRAY {
            return None;
        }
        let array = &*(*attributes.items).cast::<Array>();
        (array.kind == S64 && array.size > 0).then(|| slice::from_raw_parts(array.data, array.size))
    }
}

// The interface of XLA.

const METADATA: c_int = 1;
const EXECUTE: c_int = 3;
const INVALID_ARGUMENT: c_int = 3;
const ARRAY: c_int = 1;

// Types of elements.
const S64: c_int = 5;
const U32: c_int = 8;
const U64: c_int = 9;
const F32: c_int = 11;
const F64: c_int = 12;

/// `XLA_FFI_CallFrame`.
#[repr(C)]
struct CallFrame {
    struct_size: usize,
    extension: *mut Extension,
    api: *const Api,
    context: *mut c_void,
    stage: c_int,
    arguments: Buffers,
    results: Buffers,
    attributes: Attributes,
}

/// `XLA_FFI_Extension_Base`.
#[repr(C)]
struct Extension {
    struct_size: usize,
    kind: c_int,
    next: *mut Extension,
}

/// `XLA_FFI_Metadata_Extension`.
#[repr(C)]
struct MetadataExtension {
    base: Extension,
    metadata: *mut Metadata,
}

/// `XLA_FFI_Metadata`, with `XLA_FFI_Api_Version` inside.
#[repr(C)]
struct Metadata {
    struct_size: usize,
    version_size: usize,
    version_extension: *mut Extension,
    major: c_int,
    minor: c_int,
    traits: u32,
}

/// The beginning of `XLA_FFI_Api`.
#[repr(C)]
struct Api {
    struct_size: usize,
    extension: *mut Extension,
    version_size: usize,
    version_extension: *mut Extension,
    major: c_int,
    minor: c_int,
    internal: *const c_void,
    create_error: unsafe extern "C" fn(*mut ErrorArguments) -> *mut c_void,
}

/// `XLA_FFI_Error_Create_Args`.
#[repr(C)]
struct ErrorArguments {
    struct_size: usize,
    extension: *const Extension,
    message: *const c_char,
    code: c_int,
}

/// `XLA_FFI_Args` and `XLA_FFI_Rets`. All items are buffers: the interface has no other kind.
#[repr(C)]
struct Buffers {
    struct_size: usize,
    extension: *mut Extension,
    size: i64,
    types: *const c_int,
    items: *const *const Buffer,
}

/// `XLA_FFI_Attrs`.
#[repr(C)]
struct Attributes {
    struct_size: usize,
    extension: *mut Extension,
    size: i64,
    types: *const c_int,
    names: *const *const c_void,
    items: *const *const c_void,
}

/// `XLA_FFI_Array`, of int64.
#[repr(C)]
struct Array {
    kind: c_int,
    size: usize,
    data: *const i64,
}

/// `XLA_FFI_Buffer`.
#[repr(C)]
struct Buffer {
    struct_size: usize,
    extension: *mut Extension,
    kind: c_int,
    data: *mut c_void,
    rank: i64,
    dimensions: *const i64,
}

impl Buffer {
    /// How many elements.
    fn count(&self) -> usize {
        if self.rank <= 0 {
            return 1;
        }
        // SAFETY: XLA gives as many dimensions as the rank says.
        let dimensions = unsafe { slice::from_raw_parts(self.dimensions, self.rank as usize) };
        dimensions
            .iter()
            .map(|length| length.cast_unsigned() as usize)
            .product()
    }

    /// The elements of an argument, so many in a `T`.
    fn numbers<T>(&self, kind: c_int, in_each: usize) -> Result<&[T], Refused> {
        let count = self.count();
        if self.kind != kind || !count.is_multiple_of(in_each) {
            return Err(c"wellspring: an argument of another type");
        }
        if count == 0 {
            return Ok(&[]);
        }
        // SAFETY: XLA gives memory of this type and length, aligned to 16 bytes at least, which nothing writes to meanwhile.
        Ok(unsafe { slice::from_raw_parts(self.data.cast::<T>(), count / in_each) })
    }

    /// The places of a result, whose kind is known to have the size of a `T`.
    #[allow(
        clippy::mut_from_ref,
        reason = "the memory belongs to XLA, which asks for it to be written"
    )]
    fn places<T>(&self) -> &mut [T] {
        let count = self.count();
        if count == 0 {
            return &mut [];
        }
        // SAFETY: XLA gives memory for so many elements, aligned to 16 bytes at least, which nothing else reads or writes before
        // the handler returns. `make` calls with a type of the size of the kind, for which any bits are a value.
        unsafe { slice::from_raw_parts_mut(self.data.cast::<T>(), count) }
    }
}
