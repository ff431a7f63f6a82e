//! The blocks of a counter, read as bytes from any position.

use crate::counter_function::CounterFunction;

/// Bytes that small reads are served from: 8 blocks of ChaCha, 32 of AES.
const CACHE_BYTES: usize = 512;

/// One row of blocks and a part of it that was made already.
///
/// It has no position of its own: every read names the position of its first byte.
#[derive(Clone)]
pub(super) struct Bytes {
    blocks: CounterFunction,
    row: u64,
    cache: [u8; CACHE_BYTES],
    /// The position of the first byte of the cache, a multiple of its length.
    cache_start: u128,
    is_cached: bool,
}

impl Bytes {
    pub(super) fn new(blocks: CounterFunction, row: u64) -> Self {
        Self {
            blocks,
            row,
            cache: [0; CACHE_BYTES],
            cache_start: 0,
            is_cached: false,
        }
    }

    pub(super) const fn blocks(&self) -> &CounterFunction {
        &self.blocks
    }

    /// The `N` bytes from `position` on; `position` + `N` does not exceed 2^128.
    #[inline]
    pub(super) fn read<const N: usize>(&mut self, position: u128) -> [u8; N] {
        let offset = position.wrapping_sub(self.cache_start);
        if self.is_cached && offset < CACHE_BYTES as u128 {
            let cached = &self.cache[offset as usize..];
            if let Some(bytes) = cached.first_chunk() {
                return *bytes;
            }
        }
        let mut bytes = [0; N];
        self.fill(position, &mut bytes);
        bytes
    }

    /// Fills `destination` with the bytes from `position` on. The last one lies below 2^128.
    pub(super) fn fill(&mut self, position: u128, destination: &mut [u8]) {
        let block_bytes = self.blocks.block_bytes() as u128;
        let mut rest = destination;
        let mut position = position;
        while !rest.is_empty() {
            // Whole blocks go straight to where they are wanted, a long request at once.
            if rest.len() >= CACHE_BYTES && position.is_multiple_of(block_bytes) {
                self.blocks.fill(self.row, position / block_bytes, rest);
                return;
            }
            let cached = self.cached_from(position);
            // Up to a block boundary if the request is long, else the whole rest.
            let until = if rest.len() >= CACHE_BYTES {
                (block_bytes - position % block_bytes) as usize
            } else {
                cached.len()
            };
            let (now, after) = rest.split_at_mut(until.min(rest.len()));
            now.copy_from_slice(&cached[..now.len()]);
            position = position.wrapping_add(now.len() as u128);
            rest = after;
        }
    }

    /// The bytes from `position` to the end of the cache, which are made if they are not there.
    fn cached_from(&mut self, position: u128) -> &[u8] {
        let offset = position % CACHE_BYTES as u128;
        let start = position - offset;
        if !self.is_cached || self.cache_start != start {
            let first = start / self.blocks.block_bytes() as u128;
            self.blocks.fill(self.row, first, &mut self.cache);
            self.cache_start = start;
            self.is_cached = true;
        }
        &self.cache[offset as usize..]
    }
}
