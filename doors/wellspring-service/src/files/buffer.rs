//! Memory for one answer, which is wiped after every use.

use crate::wipe::wipe;

/// Memory for one answer.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// All zeros behind the length, and everywhere after [`wipe`](Self::wipe).
    memory: Vec<u8>,
    length: usize,
}

impl Buffer {
    /// Sets the length. The memory grows if it is too short.
    pub(super) fn set_len(&mut self, length: usize) {
        if self.memory.len() < length {
            // The old memory may hold bytes: it is wiped before it is given back.
            wipe(&mut self.memory);
            self.memory = vec![0; length.next_power_of_two()];
        }
        self.length = length;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[..self.length]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.length]
    }

    /// Wipes what was used.
    pub(super) fn wipe(&mut self) {
        wipe(&mut self.memory[..self.length]);
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
        buffer.set_len(5000);
        assert_eq!(buffer.bytes(), [0; 5000]);
    }
}
