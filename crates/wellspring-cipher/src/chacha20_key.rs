//! The key of all ChaCha20 backends.

use crate::KEY_BYTES;
use zeroize::{ZeroizeOnDrop, optimization_barrier};

/// A key, 32 bytes, as rows 1 and 2 of the state; wiped on drop.
pub(crate) struct ChaCha20Key(pub(crate) [[u8; 16]; 2]);

impl ChaCha20Key {
    pub(crate) fn new(key: &[u8; KEY_BYTES]) -> ChaCha20Key {
        let (rows, _) = key.as_chunks();
        ChaCha20Key([rows[0], rows[1]])
    }
}

impl Drop for ChaCha20Key {
    fn drop(&mut self) {
        self.0 = [[0; 16]; 2];
        optimization_barrier(self);
    }
}

impl ZeroizeOnDrop for ChaCha20Key {}
