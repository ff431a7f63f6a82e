//! Bytes, numbers and identifiers from the calling thread's tap.

use crate::edge::{WS_NULL, WS_OK, WS_TOO_LONG, bytes, find_thread, known_thread, number, of};
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use core::{ptr, slice};
use wellspring::{Engine, ids};
use wellspring_os::thread_state::CurrentThread;
use zeroize::Zeroizing;

/// The engine, after the first read. Of this library alone, so that it is found with one load.
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(ptr::null_mut());

/// The engine and the calling thread, if both are known. Else a function makes its read by [`first`], apart, so that
/// the hot path keeps no register over a call.
#[inline(always)]
fn known() -> Option<(&'static Engine, CurrentThread)> {
    // SAFETY: null, or the engine of the process, which is never dropped.
    let engine = unsafe { ENGINE.load(Ordering::Acquire).as_ref() }?;
    Some((engine, known_thread()?))
}

/// The engine, for a read on a thread that is not known yet.
pub(crate) fn first() -> Result<&'static Engine, wellspring::Error> {
    let engine = Engine::try_process()?;
    ENGINE.store(ptr::from_ref(engine).cast_mut(), Ordering::Release);
    find_thread();
    Ok(engine)
}

#[cold]
#[inline(never)]
fn fill_first(bytes: &mut [u8]) -> Result<(), c_int> {
    first()
        .and_then(|engine| engine.fill_or_fail_with_thread(CurrentThread::find(), bytes))
        .map_err(number)
}

#[cold]
#[inline(never)]
fn try_fill_first(bytes: &mut [u8]) -> Result<(), c_int> {
    first()
        .and_then(|engine| engine.try_fill(bytes))
        .map_err(number)
}

/// Ends the process: a function that returns a number cannot return an error.
#[cold]
#[inline(never)]
pub(crate) fn refuse(error: wellspring::Error) -> ! {
    panic!("wellspring: {error}")
}

/// Bytes that are ready, if the engine and the thread are known.
#[inline(always)]
fn ready<const N: usize>() -> Option<[u8; N]> {
    known().and_then(|(engine, thread)| engine.ready_bytes(thread))
}

/// Any other bytes.
fn late<const N: usize>() -> Result<[u8; N], wellspring::Error> {
    let mut bytes = Zeroizing::new([0; N]);
    first()?.fill_or_fail_with_thread(CurrentThread::find(), &mut *bytes)?;
    Ok(*bytes)
}

/// The cold halves of [`ws_u32`] and [`ws_u64`]. As functions of C they never unwind, so that the caller needs no frame: it jumps
/// to them.
mod number_late {
    use super::{late, refuse};

    #[cold]
    #[inline(never)]
    pub(super) extern "C" fn of_32_bits() -> u32 {
        u32::from_le_bytes(late().unwrap_or_else(|error| refuse(error)))
    }

    #[cold]
    #[inline(never)]
    pub(super) extern "C" fn of_64_bits() -> u64 {
        u64::from_le_bytes(late().unwrap_or_else(|error| refuse(error)))
    }
}

/// Gives 16 random bytes and the calling thread to `make`.
#[inline(always)]
pub(crate) fn with_random(make: impl Fn([u8; 16], CurrentThread)) -> Result<(), wellspring::Error> {
    #[cold]
    #[inline(never)]
    fn random_late() -> Result<([u8; 16], CurrentThread), wellspring::Error> {
        Ok((late()?, CurrentThread::find()))
    }

    let ready = known().and_then(|(engine, thread)| Some((engine.ready_bytes(thread)?, thread)));
    let (random, thread) = match ready {
        Some(ready) => ready,
        None => random_late()?,
    };
    make(random, thread);
    Ok(())
}

/// Writes length random bytes, fit for keys, to destination. If the generator has no seed of 128 bits yet, the function
/// waits for one. It does not wait if the system refuses random bytes to this process, so that no seed can come: for
/// instance by a filter of system calls, in a child that was not made by fork(3). The length is at most PTRDIFF_MAX.
/// destination may be null if the length is 0.
///
/// Any thread, a signal handler and a child process after fork(2) may call it. The first call in a process allocates memory:
/// make it outside a handler. By siglongjmp(3) a handler may leave a later call that it interrupted: the thread's next calls
/// are slower, and no bytes come twice.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `destination` is null, or points to `length` bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_fill(destination: *mut c_void, length: usize) -> c_int {
    // SAFETY: the same contract.
    let filled = unsafe { bytes(destination, length) }.and_then(|bytes| match known() {
        Some((engine, thread)) => engine
            .fill_or_fail_with_thread(thread, bytes)
            .map_err(number),
        None => fill_first(bytes),
    });
    of(filled)
}

/// Like ws_fill, but returns WS_NOT_SEEDED instead of waiting for a seed.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL, WS_TOO_LONG or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `destination` is null, or points to `length` bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_try_fill(destination: *mut c_void, length: usize) -> c_int {
    // SAFETY: the same contract.
    let filled = unsafe { bytes(destination, length) }.and_then(|bytes| match known() {
        Some((engine, thread)) => engine.try_fill_with_thread(thread, bytes).map_err(number),
        None => try_fill_first(bytes),
    });
    of(filled)
}

/// Returns 32 random bits. Like ws_fill it waits for a seed; where that returns an error, this ends the process by abort(3).
#[unsafe(no_mangle)]
pub extern "C" fn ws_u32() -> u32 {
    match ready() {
        Some(bytes) => u32::from_le_bytes(bytes),
        None => number_late::of_32_bits(),
    }
}

/// Returns 64 random bits. Like ws_fill it waits for a seed; where that returns an error, this ends the process by abort(3).
#[unsafe(no_mangle)]
pub extern "C" fn ws_u64() -> u64 {
    match ready() {
        Some(bytes) => u64::from_le_bytes(bytes),
        None => number_late::of_64_bits(),
    }
}

/// Returns a number from 0 to count - 1, each equally likely, and 0 if count is 0. Waits and ends the process like
/// ws_u64.
#[unsafe(no_mangle)]
pub extern "C" fn ws_below(count: u64) -> u64 {
    match count.checked_sub(1) {
        Some(last) => wellspring::u64_from_words(last, || ws_u64()),
        None => 0,
    }
}

/// Returns a number in [0, 1), a multiple of 2 to the power of -53. Waits and ends the process like ws_u64.
#[unsafe(no_mangle)]
pub extern "C" fn ws_double() -> f64 {
    (ws_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Writes an identifier of random bytes to the caller's 16 bytes.
///
/// # Safety
///
/// `id` is null, or points to 16 bytes that the caller may write.
#[inline(always)]
unsafe fn give(id: *mut u8, make: impl Fn([u8; 16], CurrentThread) -> [u8; 16]) -> c_int {
    if id.is_null() {
        return WS_NULL;
    }
    of(with_random(|random, thread| {
        // SAFETY: the caller's promise.
        unsafe { id.cast::<[u8; 16]>().write_unaligned(make(random, thread)) }
    })
    .map_err(number))
}

/// Writes a UUID of version 4, 122 random bits, to the 16 bytes at id. It may be called wherever ws_fill may, and waits
/// like ws_fill.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `id` is null, or points to 16 bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_uuid4(id: *mut u8) -> c_int {
    // SAFETY: the same contract.
    unsafe { give(id, |random, _| ids::uuid4_of(random)) }
}

/// Writes a UUID of version 7 to the 16 bytes at id: the time in milliseconds, 18 bits of a counter, 56 random bits. A
/// thread makes them in ascending order, also if the clock goes back. The time is up to a tick of the kernel, 1 to 10 ms,
/// late. A signal handler may call it, and its identifiers may sort before or after the interrupted call's.
/// Waits like ws_fill.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `id` is null, or points to 16 bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_uuid7(id: *mut u8) -> c_int {
    // SAFETY: the same contract.
    unsafe { give(id, ids::uuid7_of) }
}

/// Writes a ULID to the 16 bytes at id: as ws_uuid7, with 62 random bits.
///
/// Returns WS_OK, or WS_NOT_SEEDED, WS_NULL or WS_NO_MEMORY; after an error nothing was written.
///
/// # Safety
///
/// `id` is null, or points to 16 bytes that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_ulid(id: *mut u8) -> c_int {
    // SAFETY: the same contract.
    unsafe { give(id, ids::ulid_of) }
}

/// Writes the text of an identifier, and a zero behind it.
///
/// # Safety
///
/// `id` is null or points to 16 bytes, and `text` is null or points to `N` + 1 characters that the caller may write.
#[inline(always)]
unsafe fn give_text<const N: usize>(
    id: *const u8,
    text: *mut c_char,
    write: impl Fn([u8; 16], &mut [u8; N]),
) -> c_int {
    if id.is_null() || text.is_null() {
        return WS_NULL;
    }
    // SAFETY: the caller's promise. Both may be the same memory: all is read before the first write. That the compiler
    // cannot know whether the text was written before is no matter, since nothing reads it before.
    unsafe {
        let id = id.cast::<[u8; 16]>().read_unaligned();
        write(id, &mut *text.cast());
        text.add(N).write(0);
    }
    WS_OK
}

/// Writes the text of the UUID at id to text, 36 characters and a zero: hexadecimal digits in lower case, with hyphens.
///
/// Returns WS_OK, or WS_NULL.
///
/// # Safety
///
/// `id` is null or points to 16 bytes, and `text` is null or points to 37 characters that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_uuid_text(id: *const u8, text: *mut c_char) -> c_int {
    // SAFETY: the same contract.
    unsafe { give_text(id, text, ids::write_uuid) }
}

/// Writes the text of the ULID at id to text, 26 characters and a zero: Crockford's base 32 in upper case.
///
/// Returns WS_OK, or WS_NULL.
///
/// # Safety
///
/// `id` is null or points to 16 bytes, and `text` is null or points to 27 characters that the caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_ulid_text(id: *const u8, text: *mut c_char) -> c_int {
    // SAFETY: the same contract.
    unsafe { give_text(id, text, ids::write_ulid) }
}

/// Writes length bytes, such as a trace id of 16 or 32 from ws_fill, as hexadecimal digits in lower case to text, which has
/// room for 2 * length characters and a zero, and does not overlap bytes. bytes may be null if the length is 0.
///
/// Returns WS_OK, or WS_NULL or WS_TOO_LONG; after an error nothing was written.
///
/// # Safety
///
/// `bytes` is null or points to `length` bytes, and `text` is null or points to 2 * `length` + 1 other characters that the
/// caller may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_hex(bytes: *const c_void, length: usize, text: *mut c_char) -> c_int {
    if text.is_null() || (bytes.is_null() && length > 0) {
        return WS_NULL;
    }
    if length > isize::MAX as usize / 2 - 1 {
        return WS_TOO_LONG;
    }
    // SAFETY: the caller's promise, and the checks above.
    unsafe {
        if length > 0 {
            let bytes = slice::from_raw_parts(bytes.cast(), length);
            let digits = slice::from_raw_parts_mut(text.cast(), 2 * length);
            ids::write_hex(bytes, digits);
        }
        text.add(2 * length).write(0);
    }
    WS_OK
}
