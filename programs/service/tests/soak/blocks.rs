//! Every block that was ever handed out.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const SHARDS: usize = 64;

/// The blocks so far, by their first 16 bytes: two random blocks have these in common with probability 2^-128.
pub(crate) struct Blocks {
    shards: [Mutex<HashSet<u128>>; SHARDS],
    /// Blocks are kept if their last byte is less.
    kept_below: u8,
}

impl Blocks {
    /// A minute gives some 40 million blocks: one of 4 is kept, and one of 32 in a soak of more than two minutes. A
    /// block is kept for its last byte: if it comes again, it is kept again.
    pub(crate) fn for_soak(duration: Duration) -> Self {
        let is_short = duration <= Duration::from_secs(120);
        Self {
            shards: core::array::from_fn(|_| Mutex::default()),
            kept_below: if is_short { 64 } else { 8 },
        }
    }

    /// Fails if a block of 32 bytes in `bytes` came before, or is zero. A rest of fewer bytes is not looked at.
    pub(crate) fn add(&self, door: &str, bytes: &[u8]) {
        for block in bytes.chunks_exact(32) {
            assert!(block.iter().any(|byte| *byte != 0), "{door}: zeros");
            if block[31] >= self.kept_below {
                continue;
            }
            let mut start = [0; 16];
            start.copy_from_slice(&block[..16]);
            let shard = &self.shards[usize::from(block[0]) % SHARDS];
            let mut blocks = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = blocks.insert(u128::from_ne_bytes(start));
            assert!(is_new, "{door}: a block came twice");
        }
    }

    pub(crate) fn count(&self) -> usize {
        let length = |shard: &Mutex<HashSet<u128>>| {
            shard.lock().unwrap_or_else(PoisonError::into_inner).len()
        };
        self.shards.iter().map(length).sum()
    }
}
