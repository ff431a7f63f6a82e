//! RAND_bytes(3) and RAND_priv_bytes(3) of OpenSSL.
//!
//! They draw from wellspring only if the program's environment asks for it, because a program may be bound to OpenSSL's
//! own generator by its rules. Otherwise each call goes on to OpenSSL.
//!
//! Finding OpenSSL is the hard part. Where a program loads a module with dlopen(3), as Python does with its module ssl,
//! the module's OpenSSL is not among the global symbols. The module's call still reaches this library, which is global,
//! but RTLD_NEXT then finds nothing. So this module looks up the original as the loader would have for the caller: first
//! among the global symbols behind this library, then among the libraries that the caller's own file needs. The address
//! to which the call returns says which file that is.

use crate::engine::try_fill;
use crate::system::Next;
use core::arch::naked_asm;
use core::ffi::{CStr, c_int, c_uchar, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use core::{mem, ptr, slice};
use wellspring_interpose::door_counters::{Door, count, count_failure};

/// OpenSSL's results: success, and failure.
const YES: c_int = 1;
const NO: c_int = 0;

/// The number of call sites whose original is remembered. Further call sites are looked up at each call.
const SEATS: usize = 64;

type Rand = unsafe extern "C-unwind" fn(*mut c_uchar, c_int) -> c_int;

static IS_ASKED: AtomicBool = AtomicBool::new(false);
static BYTES: Original = Original::new(c"RAND_bytes");
static PRIVATE_BYTES: Original = Original::new(c"RAND_priv_bytes");

/// From now on the functions draw from wellspring.
pub(crate) fn replace() {
    IS_ASKED.store(true, Ordering::Relaxed);
}

/// Defines a function that passes its return address on as a third argument.
macro_rules! with_caller {
    ($($name:ident => $target:ident)*) => {$(
        /// Like the function of OpenSSL with this name.
        ///
        /// # Safety
        ///
        /// `destination` has `length` bytes that may be written, if `length` is positive.
        #[allow(non_snake_case, reason = "OpenSSL's name")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name(destination: *mut c_uchar, length: c_int) -> c_int {
            #[cfg(target_arch = "x86_64")]
            naked_asm!("mov rdx, [rsp]", "jmp {target}", target = sym $target);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("mov x2, x30", "b {target}", target = sym $target);
        }
    )*};
}

with_caller! {
    RAND_bytes => bytes
    RAND_priv_bytes => private_bytes
}

unsafe extern "C-unwind" fn bytes(
    destination: *mut c_uchar,
    length: c_int,
    caller: *const c_void,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { answer(&BYTES, destination, length, caller) }
}

unsafe extern "C-unwind" fn private_bytes(
    destination: *mut c_uchar,
    length: c_int,
    caller: *const c_void,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { answer(&PRIVATE_BYTES, destination, length, caller) }
}

/// # Safety
///
/// The contract of RAND_bytes(3).
unsafe fn answer(
    original: &Original,
    destination: *mut c_uchar,
    length: c_int,
    caller: *const c_void,
) -> c_int {
    let is_asked = IS_ASKED.load(Ordering::Relaxed);
    // SAFETY: the same contract.
    if is_asked && let Some(result) = unsafe { serve(destination, length) } {
        return result;
    }
    match original.find(caller) {
        // SAFETY: the same contract.
        Some(function) => unsafe { function(destination, length) },
        None if is_asked => NO,
        // We found no OpenSSL: the caller can use bytes from here, and might not expect an error.
        // SAFETY: the same contract.
        None => unsafe { serve(destination, length) }.unwrap_or(NO),
    }
}

/// Answers as OpenSSL 3 does: a negative length is an error, and 0 succeeds. `None` if wellspring has no bytes.
///
/// # Safety
///
/// The contract of RAND_bytes(3).
unsafe fn serve(destination: *mut c_uchar, length: c_int) -> Option<c_int> {
    let Ok(length) = usize::try_from(length) else {
        return Some(NO);
    };
    if length == 0 {
        return Some(YES);
    }
    if destination.is_null() {
        return Some(NO);
    }
    // SAFETY: not null; the caller's promise. A length of an int is below isize::MAX.
    let bytes = unsafe { slice::from_raw_parts_mut(destination, length) };
    if try_fill(bytes).is_err() {
        count_failure(Door::RandBytes);
        return None;
    }
    count(Door::RandBytes, length);
    Some(YES)
}

/// OpenSSL's function of a name. A process may have several: one for each OpenSSL that its modules loaded.
struct Original {
    name: &'static CStr,
    /// The function among the global symbols, which serves all callers.
    global: Next,
    /// The functions of callers, if no function is global.
    seats: [Seat; SEATS],
}

/// A caller and its function. Neither changes once it is there.
struct Seat {
    caller: AtomicPtr<c_void>,
    function: AtomicPtr<c_void>,
}

impl Original {
    const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            global: Next::new(name),
            seats: [const {
                Seat {
                    caller: AtomicPtr::new(ptr::null_mut()),
                    function: AtomicPtr::new(ptr::null_mut()),
                }
            }; SEATS],
        }
    }

    /// Returns the function that this caller would have called without us.
    fn find(&self, caller: *const c_void) -> Option<Rand> {
        // SAFETY: the type of this function.
        if let Some(function) = unsafe { self.global.get() } {
            return Some(function);
        }
        for seat in &self.seats {
            let owner = seat.caller.load(Ordering::Acquire);
            if owner.is_null() {
                break;
            }
            let function = seat.function.load(Ordering::Acquire);
            if owner.cast_const() == caller && !function.is_null() {
                // SAFETY: `remember` put it there.
                return Some(unsafe { mem::transmute::<*mut c_void, Rand>(function) });
            }
        }
        // SAFETY: the type of this function.
        if let Some(function) = unsafe { self.global.get_or_find() } {
            return Some(function);
        }
        let function = find_for(caller, self.name)?;
        self.remember(caller, function);
        Some(function)
    }

    fn remember(&self, caller: *const c_void, function: Rand) {
        let (none, new) = (ptr::null_mut(), caller.cast_mut());
        let claims = |seat: &&Seat| {
            let claimed =
                seat.caller
                    .compare_exchange(none, new, Ordering::AcqRel, Ordering::Relaxed);
            claimed.is_ok()
        };
        if let Some(seat) = self.seats.iter().find(claims) {
            seat.function
                .store(function as *mut c_void, Ordering::Release);
        }
    }
}

/// Looks a function up among the libraries that the file of this code address needs. The file stays loaded from now on,
/// so that the function stays there.
fn find_for(code: *const c_void, name: &CStr) -> Option<Rand> {
    // SAFETY: all zeros is a value of it, and dladdr(3) takes any address.
    let file = unsafe {
        let mut info: libc::Dl_info = mem::zeroed();
        if libc::dladdr(code, &raw mut info) == 0 {
            return None;
        }
        info.dli_fname
    };
    // SAFETY: the name of a loaded file, or null, which is the program itself.
    let handle = unsafe { libc::dlopen(file, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: a handle and a name.
    let function = unsafe { libc::dlsym(handle, name.as_ptr()) };
    let is_ours =
        [RAND_bytes as *const c_void, RAND_priv_bytes as _].contains(&function.cast_const());
    if function.is_null() || is_ours {
        return None;
    }
    // SAFETY: not null, and OpenSSL's type for these names.
    Some(unsafe { mem::transmute::<*mut c_void, Rand>(function) })
}
