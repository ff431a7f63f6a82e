//! Reproducible streams.

use crate::edge::{WS_NO_ALGORITHM, WS_NULL, bytes, drop_placed, give, of, place, vector};
use core::ffi::{CStr, c_char, c_int, c_void};
use wellspring_pseudo::{Algorithm, Stream};

// Empty, so that the interface does not depend on what is inside: a pointer to it points to a `Stream`.
/// A reproducible stream of bytes, named by an algorithm, a seed and a path. Not for keys.
#[repr(C)]
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct ws_stream([u8; 0]);

/// Makes the stream of an algorithm, a seed and a path, at its first byte, and stores it in *stream; free it with
/// ws_stream_free. The same algorithm, seed and path give the same bytes on every machine and with every version. The
/// stream is NOT fit for keys: from a few of its bytes it may be possible to compute all others.
///
/// The algorithm is "xoshiro256++", "xoshiro256++x16", "xorshift128+", "philox4x64-10", "chacha8", "chacha12",
/// "chacha20" or "aes256-ctr". The seed has 128 bits: seed_high times 2 to the power of 64, plus seed_low. The path is
/// a list of depth numbers, such as 3, 0, 17; null with depth 0 is the root.
///
/// Returns WS_OK, or WS_NULL, WS_TOO_LONG, WS_NO_ALGORITHM or WS_NO_MEMORY; after an error *stream is null, unless
/// stream itself is.
///
/// # Safety
///
/// `stream` is null, or the caller may write a pointer there. `algorithm` is null or a string that ends with a zero
/// byte. `path` is null or points to `depth` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_stream_new(
    stream: *mut *mut ws_stream,
    algorithm: *const c_char,
    seed_low: u64,
    seed_high: u64,
    path: *const u32,
    depth: usize,
) -> c_int {
    let make = || {
        // SAFETY: the same contract.
        let (algorithm, seed, path) =
            unsafe { named(algorithm, seed_low, seed_high, path, depth) }?;
        place(Stream::new(algorithm, seed, path)).map(<*mut Stream>::cast)
    };
    // SAFETY: the same contract.
    of(unsafe { give(stream, make) })
}

/// Frees a stream. Does nothing if stream is null.
///
/// # Safety
///
/// `stream` is null, or from `ws_stream_new` and not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_stream_free(stream: *mut ws_stream) {
    // SAFETY: the same contract.
    unsafe { drop_placed(stream.cast::<Stream>()) };
}

/// Writes the next length bytes of a stream to destination. Two reads give the same bytes as one read of both lengths.
///
/// Returns WS_OK, or WS_NULL or WS_TOO_LONG; after an error nothing was written.
///
/// # Safety
///
/// `stream` is null or a stream that nothing else uses now; `destination` as in `ws_fill`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_stream_fill(
    stream: *mut ws_stream,
    destination: *mut c_void,
    length: usize,
) -> c_int {
    // SAFETY: the same contract.
    let filled = unsafe { stream.cast::<Stream>().as_mut() }
        .ok_or(WS_NULL)
        .and_then(|stream| {
            // SAFETY: the same contract.
            unsafe { bytes(destination, length) }.map(|bytes| stream.fill(bytes))
        });
    of(filled)
}

/// Returns the next 4 bytes of a stream, which must not be null, as a number, the lowest byte first.
///
/// # Safety
///
/// A stream that nothing else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_stream_u32(stream: *mut ws_stream) -> u32 {
    // SAFETY: the same contract.
    unsafe { given(stream) }.next_u32()
}

/// Returns the next 8 bytes of a stream, which must not be null, as a number, the lowest byte first.
///
/// # Safety
///
/// A stream that nothing else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_stream_u64(stream: *mut ws_stream) -> u64 {
    // SAFETY: the same contract.
    unsafe { given(stream) }.next_u64()
}

/// Makes the byte at a position the next one of a stream. The position counts bytes from 0; it is position_high times 2
/// to the power of 64, plus position_low.
///
/// Returns WS_OK, or WS_NULL.
///
/// # Safety
///
/// `stream` is null or a stream that nothing else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_stream_seek(
    stream: *mut ws_stream,
    position_low: u64,
    position_high: u64,
) -> c_int {
    // SAFETY: the same contract.
    let Some(stream) = (unsafe { stream.cast::<Stream>().as_mut() }) else {
        return WS_NULL;
    };
    let position = u128::from(position_high) << 64 | u128::from(position_low);
    stream.seek(position);
    crate::edge::WS_OK
}

/// Stores the position of a stream's next byte, in two halves as for ws_stream_seek. Either pointer may be null: then
/// that half is not stored.
///
/// Returns WS_OK, or WS_NULL if there is no stream.
///
/// # Safety
///
/// `stream` is null or a stream that nothing else uses now. The caller may write a number to each place that is not
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ws_stream_tell(
    stream: *const ws_stream,
    position_low: *mut u64,
    position_high: *mut u64,
) -> c_int {
    // SAFETY: the same contract.
    let Some(stream) = (unsafe { stream.cast::<Stream>().as_ref() }) else {
        return WS_NULL;
    };
    let position = stream.position();
    let halves = [
        (position_low, position as u64),
        (position_high, (position >> 64) as u64),
    ];
    for (place, half) in halves {
        if !place.is_null() {
            // SAFETY: not null; the caller's promise.
            unsafe { place.write(half) };
        }
    }
    crate::edge::WS_OK
}

/// Returns the stream. A null pointer ends the process, because a function that returns a number cannot return an
/// error.
///
/// # Safety
///
/// `stream` is null, or a stream that nothing else uses while the reference lives.
#[inline(always)]
unsafe fn given<'a>(stream: *mut ws_stream) -> &'a mut Stream {
    // SAFETY: the same contract.
    match unsafe { stream.cast::<Stream>().as_mut() } {
        Some(stream) => stream,
        None => panic!("wellspring: the stream is a null pointer"),
    }
}

/// The algorithm, the seed and the path of a name.
///
/// # Safety
///
/// `algorithm` and `path` as in `ws_stream_new`; the path is not written while the slice lives.
pub(crate) unsafe fn named<'a>(
    algorithm: *const c_char,
    seed_low: u64,
    seed_high: u64,
    path: *const u32,
    depth: usize,
) -> Result<(Algorithm, u128, &'a [u32]), c_int> {
    if algorithm.is_null() {
        return Err(WS_NULL);
    }
    // SAFETY: the same contract.
    let path = unsafe { vector(path, depth) }?;
    // SAFETY: not null; the caller's promise.
    let name = unsafe { CStr::from_ptr(algorithm) }.to_str();
    let algorithm: Algorithm = name
        .ok()
        .and_then(|name| name.parse().ok())
        .ok_or(WS_NO_ALGORITHM)?;
    let seed = u128::from(seed_high) << 64 | u128::from(seed_low);
    Ok((algorithm, seed, path))
}
