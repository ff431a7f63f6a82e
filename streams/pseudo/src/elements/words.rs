//! The words of one element.

use super::arrays::{ElementError, Elements, Kind};
use crate::counter_function::{CounterFunction, MAX_BLOCK_BYTES};

/// The words that one element takes: without end, and read by no other element.
///
/// The first ones, the *head*, are made for many elements at once: of a kind whose elements have a head of h words, element
/// i has the words h i to h i + h - 1 of the kind's row. Then come blocks of its own: block i of the row
/// [`Kind::row_of_own_blocks`], of the next row, and so on.
pub(super) struct Words<'a> {
    head: &'a [[u8; 8]],
    blocks: &'a CounterFunction,
    kind: Kind,
    index: u64,
    used_blocks: u64,
    block: [u8; MAX_BLOCK_BYTES],
    used_bytes: usize,
}

impl<'a> Words<'a> {
    /// The words behind the head.
    #[inline(always)]
    pub(super) fn new(blocks: &'a CounterFunction, kind: Kind, index: u64) -> Self {
        Self {
            head: &[],
            blocks,
            kind,
            index,
            used_blocks: 0,
            block: [0; MAX_BLOCK_BYTES],
            used_bytes: MAX_BLOCK_BYTES,
        }
    }

    #[inline(always)]
    pub(super) fn next_u64(&mut self) -> u64 {
        if let Some((word, rest)) = self.head.split_first() {
            self.head = rest;
            return u64::from_le_bytes(*word);
        }
        self.next_of_own_block()
    }

    #[cold]
    #[inline(never)]
    fn next_of_own_block(&mut self) -> u64 {
        let block = &mut self.block[..self.blocks.block_bytes()];
        if self.used_bytes >= block.len() {
            let row = self.kind.row_of_own_blocks() + self.used_blocks;
            self.blocks.fill(row, self.index.into(), block);
            self.used_blocks += 1;
            self.used_bytes = 0;
        }
        let mut word = [0; size_of::<u64>()];
        word.copy_from_slice(&block[self.used_bytes..][..size_of::<u64>()]);
        self.used_bytes += size_of::<u64>();
        u64::from_le_bytes(word)
    }

    /// A uniform number in [0, 1), a multiple of 2^-53.
    #[inline(always)]
    pub(super) fn next_uniform(&mut self) -> f64 {
        super::uniform::from_u64(self.next_u64())
    }

    /// A uniform number in (0, 1], a multiple of 2^-53.
    #[inline(always)]
    pub(super) fn next_positive(&mut self) -> f64 {
        1.0 - self.next_uniform()
    }
}

impl Elements {
    /// Fills `out` with elements from index `first` on. `draw` gets the words of each in turn, with a head of so many bytes:
    /// a power of two, at most 64.
    #[inline(always)]
    pub(super) fn fill_each<const HEAD_BYTES: usize, T>(
        &self,
        kind: Kind,
        first: u64,
        out: &mut [T],
        mut draw: impl FnMut(&mut Words<'_>) -> T,
    ) -> Result<(), ElementError> {
        self.fill_from_words(kind.row(), first, out, |start, heads, out| {
            for (offset, (place, head)) in out.iter_mut().zip(heads).enumerate() {
                let head: &[u8; HEAD_BYTES] = head;
                let mut words = Words {
                    head: head.as_chunks().0,
                    ..Words::new(&self.blocks, kind, start.wrapping_add(offset as u64))
                };
                *place = draw(&mut words);
            }
        })
    }
}
