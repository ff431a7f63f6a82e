//! Memory for bytes on their way out, which is wiped at once.

/// Wipes `bytes` as fast as memory can be written. The barrier may read them for all that the compiler knows, so it keeps
/// the zeros. `Zeroize` stores byte by byte: for 1 MiB that took longer than to make the bytes.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}

/// The bytes of an answer begin at a page. The kernel copies an answer page by page; with the 16 bytes that malloc puts
/// before its memory, each page of the reader would get parts of two.
const PAGE_BYTES: usize = 4096;

/// A buffer in which a thread makes bytes before it hands them out. It is wiped after every use. Pages that are never used
/// take no memory.
pub(crate) struct Scratch {
    memory: Vec<u8>,
    /// The place of the first byte.
    start: usize,
}

impl Scratch {
    pub(crate) fn new(bytes: usize) -> Self {
        let mut memory = vec![0; bytes + PAGE_BYTES];
        let start = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        memory.truncate(start + bytes);
        Self { memory, start }
    }

    /// The first `length` bytes: all zeros, unless they were not wiped after their last use.
    pub(crate) fn bytes(&mut self, length: usize) -> &mut [u8] {
        &mut self.memory[self.start..self.start + length]
    }

    pub(crate) fn wipe(&mut self) {
        wipe(&mut self.memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_is_used_again_holds_nothing_of_its_last_answer() {
        let mut scratch = Scratch::new(1024);
        scratch.bytes(1000).fill(7);
        scratch.wipe();
        assert_eq!(scratch.bytes(1024), [0; 1024]);
    }

    #[test]
    fn every_length_begins_at_a_page() {
        for length in [1, 4096, 5000, 1 << 20] {
            let mut scratch = Scratch::new(length);
            let bytes = scratch.bytes(length);
            assert_eq!(bytes.as_ptr().align_offset(PAGE_BYTES), 0);
            assert_eq!(bytes.len(), length);
        }
    }
}
