//! Wipes many bytes at once.

/// Wipes `bytes` as fast as memory can be written. The barrier may read them for all that the compiler knows, so it keeps
/// the zeros. `Zeroize` stores byte by byte: for 1 MiB that took longer than to make the bytes.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}

/// A buffer in which a thread makes bytes before it hands them out. It is wiped after every use.
pub(crate) struct Scratch(pub(crate) Vec<u8>);

impl Scratch {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(vec![0; bytes])
    }

    pub(crate) fn wipe(&mut self) {
        wipe(&mut self.0);
    }
}
