//! More words for one element.

use super::arrays::Kind;
use crate::counter_function::{CounterFunction, MAX_BLOCK_BYTES};

/// The words that one element takes when its first word is not enough: without end, and read by no
/// other element.
///
/// Retry t of element i of a kind reads block i of the kind's row 1 + t.
pub(super) struct Retries<'a> {
    blocks: &'a CounterFunction,
    index: u64,
    next_row: u64,
    block: [u8; MAX_BLOCK_BYTES],
    used_bytes: usize,
}

impl<'a> Retries<'a> {
    pub(super) fn new(blocks: &'a CounterFunction, kind: Kind, index: u64) -> Self {
        Self {
            blocks,
            index,
            next_row: kind.row() + 1,
            block: [0; MAX_BLOCK_BYTES],
            used_bytes: MAX_BLOCK_BYTES,
        }
    }

    pub(super) fn next_u64(&mut self) -> u64 {
        let block = &mut self.block[..self.blocks.block_bytes()];
        if self.used_bytes >= block.len() {
            self.blocks.fill(self.next_row, self.index.into(), block);
            self.next_row += 1;
            self.used_bytes = 0;
        }
        let mut word = [0; size_of::<u64>()];
        word.copy_from_slice(&block[self.used_bytes..][..size_of::<u64>()]);
        self.used_bytes += size_of::<u64>();
        u64::from_le_bytes(word)
    }

    /// A uniform number in [0, 1), a multiple of 2^-53.
    pub(super) fn next_uniform(&mut self) -> f64 {
        super::uniform::from_u64(self.next_u64())
    }
}
