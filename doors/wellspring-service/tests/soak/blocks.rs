//! Every block that was ever handed out.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

const SHARDS: usize = 64;

/// The blocks so far, by their first 16 bytes: two random blocks have these in common with probability 2^-128.
pub(crate) struct Blocks([Mutex<HashSet<u128>>; SHARDS]);

impl Default for Blocks {
    fn default() -> Self {
        Self(core::array::from_fn(|_| Mutex::default()))
    }
}

impl Blocks {
    /// Fails if a block of 32 bytes in `bytes` came before, or is zero. A rest of fewer bytes is not looked at.
    pub(crate) fn add(&self, door: &str, bytes: &[u8]) {
        for block in bytes.chunks_exact(32) {
            assert!(block.iter().any(|byte| *byte != 0), "{door}: zeros");
            let mut start = [0; 16];
            start.copy_from_slice(&block[..16]);
            let shard = &self.0[usize::from(block[0]) % SHARDS];
            let mut blocks = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = blocks.insert(u128::from_ne_bytes(start));
            assert!(is_new, "{door}: a block came twice");
        }
    }

    pub(crate) fn count(&self) -> usize {
        let length = |shard: &Mutex<HashSet<u128>>| {
            shard.lock().unwrap_or_else(PoisonError::into_inner).len()
        };
        self.0.iter().map(length).sum()
    }
}
