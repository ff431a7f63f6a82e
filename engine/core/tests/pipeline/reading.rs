//! Reads memory through `/proc/self/mem`, as a debugger or a core dump would see it.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Reads memory of this process without going through a reference to it.
pub(crate) fn read_memory(start: usize, bytes: &mut [u8]) {
    let memory = File::open("/proc/self/mem").unwrap();
    memory.read_exact_at(bytes, start as u64).unwrap();
}

/// The bytes of a value, padding included.
pub(crate) fn bytes_of<T>(value: &T) -> Vec<u8> {
    let mut bytes = vec![0; size_of::<T>()];
    read_memory(&raw const *value as usize, &mut bytes);
    bytes
}
