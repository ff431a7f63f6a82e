//! Wipes many bytes at once.

/// Wipes `bytes` as fast as memory can be written. The barrier may read them for all that the compiler knows, so it keeps
/// the zeros. `Zeroize` stores byte by byte: for 1 MiB that took longer than to make the bytes.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}
