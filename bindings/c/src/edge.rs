//! The edge to C: the numbers that functions return, a caller's pointers, checked and turned into slices and references, and the
//! calling thread, found without a call of the loader.

use core::ffi::{CStr, c_char, c_int, c_void};
use wellspring_os::memory::try_box;
use wellspring_os::thread_state::CurrentThread;

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

/// Returns the caller's `length` bytes at `start` as a slice. Null with length 0 gives an empty slice.
///
/// # Safety
///
/// A pointer that is not null points to `length` bytes that the caller may write, and nothing else uses them while the
/// slice lives.
#[inline(always)]
pub(crate) unsafe fn bytes<'a>(start: *mut c_void, length: usize) -> Result<&'a mut [u8], c_int> {
    // SAFETY: the same contract.
    unsafe { numbers(start.cast(), length) }
}

/// Like [`bytes`], for `length` numbers.
///
/// # Safety
///
/// A pointer that is not null points to `length` numbers that the caller may write, and nothing else uses them while the
/// slice lives.
#[inline(always)]
pub(crate) unsafe fn numbers<'a, T>(start: *mut T, length: usize) -> Result<&'a mut [T], c_int> {
    if length == 0 {
        return Ok(&mut []);
    }
    if start.is_null() {
        return Err(WS_NULL);
    }
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(WS_TOO_LONG);
    }
    // SAFETY: the caller's promise, and the checks above. The memory comes from C: the compiler cannot know whether it
    // was written before, and nothing here reads it before it is written.
    Ok(unsafe { core::slice::from_raw_parts_mut(start, length) })
}

/// Returns the caller's `length` numbers at `start`, which are only read. Null with length 0 gives an empty slice.
///
/// # Safety
///
/// A pointer that is not null points to `length` numbers, and nothing writes them while the slice lives.
pub(crate) unsafe fn vector<'a, T>(start: *const T, length: usize) -> Result<&'a [T], c_int> {
    if length == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(WS_NULL);
    }
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(WS_TOO_LONG);
    }
    // SAFETY: the caller's promise, and the checks above.
    Ok(unsafe { core::slice::from_raw_parts(start, length) })
}

/// Moves a value to the heap; [`drop_placed`] frees it. Without memory it returns an error, where `Box` would end the
/// process.
pub(crate) fn place<T>(value: T) -> Result<*mut T, c_int> {
    let placed = try_box(value).map_err(|_| WS_NO_MEMORY)?;
    Ok(Box::into_raw(placed))
}

/// Drops and frees a value from [`place`]. Does nothing if `start` is null.
///
/// # Safety
///
/// `start` is null, or from [`place`] and not dropped before.
pub(crate) unsafe fn drop_placed<T>(start: *mut T) {
    if !start.is_null() {
        // SAFETY: `place` took it out of a `Box`.
        drop(unsafe { Box::from_raw(start) });
    }
}

/// Writes the pointer that `make` returns to the caller's `place`; null if `make` fails.
///
/// # Safety
///
/// `place` is null, or the caller may write a pointer there.
pub(crate) unsafe fn give<T>(
    place: *mut *mut T,
    make: impl FnOnce() -> Result<*mut T, c_int>,
) -> Result<(), c_int> {
    if place.is_null() {
        return Err(WS_NULL);
    }
    // SAFETY: not null, hence writable. It stays null after an error, so that a caller who ignores the error uses no object.
    unsafe { place.write(core::ptr::null_mut()) };
    let made = make()?;
    // SAFETY: as above.
    unsafe { place.write(made) };
    Ok(())
}

// ---- the calling thread ----
// Finds the calling thread without a call of the loader.
//
// In a shared library, `thread_local!` calls `__tls_get_addr`, which takes as long as all the rest of ws_u64. The
// compiler leaves the call out with the option `tls-model=initial-exec`, which stable Rust does not have. So this file
// keeps the address of the thread's data in one word of its own, which it reads with the two instructions of that
// model.
//
// The price: the loader then needs space for all data of the library's threads, 0.7 KiB, in the part of each thread's
// memory that it lays out at the start of the program. For libraries that are loaded later, by dlopen(3), glibc keeps 1.6
// KiB free there. Where that is used up, dlopen(3) fails with its own error.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod word {
    use core::arch::{asm, global_asm};

    // Null in a new thread.
    global_asm!(
        ".pushsection .tbss.wellspring_c_thread, \"awT\", @nobits",
        ".balign 8",
        ".globl wellspring_c_thread",
        ".hidden wellspring_c_thread",
        ".type wellspring_c_thread, @object",
        ".size wellspring_c_thread, 8",
        "wellspring_c_thread:",
        ".zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub(super) fn get() -> *const () {
        let address;
        // SAFETY: the word of this thread. The linker changes the first instruction in a program that is not a library.
        unsafe {
            asm!(
                "mov {address}, qword ptr [rip + wellspring_c_thread@GOTTPOFF]",
                "mov {address}, qword ptr fs:[{address}]",
                address = out(reg) address,
                options(nostack, preserves_flags, readonly),
            );
        }
        address
    }

    pub(super) fn set(address: *const ()) {
        // SAFETY: as above. A signal handler that interrupts this stores the same address.
        unsafe {
            asm!(
                "mov {place}, qword ptr [rip + wellspring_c_thread@GOTTPOFF]",
                "mov qword ptr fs:[{place}], {address}",
                place = out(reg) _,
                address = in(reg) address,
                options(nostack, preserves_flags),
            );
        }
    }
}

/// The calling thread, if [`find_thread`] ran on it before.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn known_thread() -> Option<CurrentThread> {
    let address = word::get();
    // SAFETY: `find_thread` stored it on this thread.
    (!address.is_null()).then(|| unsafe { CurrentThread::from_address(address) })
}

/// Has [`known_thread`] find the calling thread from now on.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) fn find_thread() {
    word::set(CurrentThread::find().address());
}

/// The calling thread. On arm64 the loader's function takes 4 of the 67 instructions of ws_u64. With the model above glibc
/// refuses to load the library after the start of a program: the data of its threads is aligned to 64 bytes, and glibc
/// keeps room with an alignment of 16 there.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) fn known_thread() -> Option<CurrentThread> {
    Some(CurrentThread::find())
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) fn find_thread() {}

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
