//! Memory for one answer, which is wiped after every use.

use crate::wipe::wipe;

/// The bytes of an answer begin at a page. The kernel copies an answer page by page; with the 16 bytes that malloc puts
/// before its memory, each page of the reader would get parts of two.
const PAGE_BYTES: usize = 4096;

/// Memory for one answer.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// All zeros behind the length, and everywhere after [`wipe`](Self::wipe).
    memory: Vec<u8>,
    /// The place of the first byte.
    start: usize,
    length: usize,
}

impl Buffer {
    /// Sets the length. The memory grows if it is too short.
    pub(super) fn set_len(&mut self, length: usize) {
        if self.memory.len() < self.start + length {
            // The old memory may hold bytes: it is wiped before it is given back.
            wipe(&mut self.memory);
            self.memory = vec![0; length.next_power_of_two() + PAGE_BYTES];
            let start = self.memory.as_ptr().align_offset(PAGE_BYTES);
            self.start = start.min(PAGE_BYTES);
        }
        self.length = length;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }

    /// Wipes what was used.
    pub(super) fn wipe(&mut self) {
        wipe(self.bytes_mut());
        self.length = 0;
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_is_used_again_holds_nothing_of_its_last_answer() {
        let mut buffer = Buffer::default();
        buffer.set_len(1000);
        buffer.bytes_mut().fill(7);
        buffer.wipe();
        assert!(buffer.bytes().is_empty());
        buffer.set_len(1024);
        assert_eq!(buffer.bytes(), [0; 1024]);
        buffer.bytes_mut().fill(7);
        // Longer than the memory, wherever its first page begins: the old memory is wiped and given back.
        buffer.set_len(10_000);
        assert_eq!(buffer.bytes(), [0; 10_000]);
    }

    #[test]
    fn every_length_begins_at_a_page() {
        let mut buffer = Buffer::default();
        for length in [1, 4096, 5000, 1 << 20] {
            buffer.set_len(length);
            assert_eq!(buffer.bytes().as_ptr().align_offset(PAGE_BYTES), 0);
            assert_eq!(buffer.bytes().len(), length);
        }
    }
}
