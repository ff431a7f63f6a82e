//! SHA-256 (FIPS 180-4) that works in place: its state never moves.
//!
//! Written for entropy pools and seeds: a pool is in locked memory that a fork wipes, and nothing of
//! it may be copied elsewhere. The usual crates return the digest and the emptied state by value, and
//! leave the message schedule on the stack.

pub use crate::backend::Compression;
use crate::backend::{BLOCK_BYTES, INITIAL_STATE};
use crate::machine;
use core::fmt;
use zeroize::{ZeroizeOnDrop, optimization_barrier};

/// The length of a digest: 32 bytes.
pub const DIGEST_BYTES: usize = 32;

/// The last block holds up to 55 bytes of the message: one byte starts the padding, 8 hold the length.
const LENGTH_AT: usize = BLOCK_BYTES - 8;

/// A SHA-256 computation in place: 104 bytes, wiped on drop.
///
/// All bytes zero is the empty hash: memory that was zeroed, by the system on a fork for example, is a value of
/// this type. When a call returns, the input is left in this struct and in the digest only: the message schedule
/// and the working variables are wiped from the stack, and on x86-64 and arm64 from the registers.
///
/// A message may have up to 2^61 - 1 bytes (FIPS 180-4, 1); this is not checked.
///
/// ```
/// use wellspring_cipher::sha256::Sha256;
///
/// let mut hash = Sha256::new();
/// hash.update(b"ab");
/// hash.update(b"c");
/// let mut digest = [0; 32];
/// hash.finish_into(&mut digest);
/// assert_eq!(digest, Sha256::digest(b"abc"));
/// ```
#[repr(C)]
pub struct Sha256 {
    /// The bytes of the message so far.
    length: u64,
    /// After the whole blocks of the message so far. Not loaded yet while `length` is 0.
    state: [u32; 8],
    /// The bytes after the last whole block: `length % 64` of them.
    block: [u8; BLOCK_BYTES],
}

impl Sha256 {
    /// The empty hash. What zeroed memory holds.
    pub const ZERO: Self = Self {
        length: 0,
        state: [0; 8],
        block: [0; BLOCK_BYTES],
    };

    /// The empty hash.
    #[must_use]
    pub const fn new() -> Self {
        Self::ZERO
    }

    /// Appends `bytes` to the message.
    pub fn update(&mut self, bytes: &[u8]) {
        self.update_by(Compression::detect(), bytes);
    }

    /// Writes the digest of the message to `digest`. The hash is empty again.
    pub fn finish_into(&mut self, digest: &mut [u8; DIGEST_BYTES]) {
        self.finish_into_by(Compression::detect(), digest);
    }

    /// The digest of `bytes`, for data that is not secret: the digest is returned by value.
    #[must_use]
    pub fn digest(bytes: &[u8]) -> [u8; DIGEST_BYTES] {
        let (mut hash, mut digest) = (Self::ZERO, [0; DIGEST_BYTES]);
        hash.update(bytes);
        hash.finish_into(&mut digest);
        digest
    }

    /// [`update`](Self::update) by a given implementation, for tests and benchmarks.
    ///
    /// # Panics
    ///
    /// When this CPU does not run `compression`.
    pub fn update_by(&mut self, compression: Compression, bytes: &[u8]) {
        assert!(
            compression.is_available(),
            "this CPU lacks the instructions"
        );
        self.absorb(compression, bytes);
        wipe(compression);
    }

    /// [`finish_into`](Self::finish_into) by a given implementation, for tests and benchmarks.
    ///
    /// # Panics
    ///
    /// When this CPU does not run `compression`.
    pub fn finish_into_by(&mut self, compression: Compression, digest: &mut [u8; DIGEST_BYTES]) {
        assert!(
            compression.is_available(),
            "this CPU lacks the instructions"
        );
        self.pad(compression, digest);
        wipe(compression);
    }

    #[inline(never)]
    fn absorb(&mut self, compression: Compression, bytes: &[u8]) {
        if self.length == 0 {
            self.state = INITIAL_STATE;
        }
        let buffered = self.buffered();
        self.length = self.length.wrapping_add(bytes.len() as u64);
        let mut rest = bytes;
        if buffered > 0 {
            let (now, after) = rest.split_at(rest.len().min(BLOCK_BYTES - buffered));
            self.block[buffered..][..now.len()].copy_from_slice(now);
            if buffered + now.len() < BLOCK_BYTES {
                return;
            }
            compress(
                compression,
                &mut self.state,
                core::slice::from_ref(&self.block),
            );
            rest = after;
        }
        let (blocks, tail) = rest.as_chunks();
        compress(compression, &mut self.state, blocks);
        self.block[..tail.len()].copy_from_slice(tail);
    }

    /// FIPS 180-4, 5.1.1: a one bit, zeros, the length in bits.
    #[inline(never)]
    fn pad(&mut self, compression: Compression, digest: &mut [u8; DIGEST_BYTES]) {
        if self.length == 0 {
            self.state = INITIAL_STATE;
        }
        let buffered = self.buffered();
        self.block[buffered] = 0x80;
        self.block[buffered + 1..].fill(0);
        if buffered >= LENGTH_AT {
            compress(
                compression,
                &mut self.state,
                core::slice::from_ref(&self.block),
            );
            self.block.fill(0);
        }
        let bits = self.length.wrapping_mul(8);
        self.block[LENGTH_AT..].copy_from_slice(&bits.to_be_bytes());
        compress(
            compression,
            &mut self.state,
            core::slice::from_ref(&self.block),
        );
        for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(self.state) {
            *bytes = word.to_be_bytes();
        }
        self.clear();
    }

    fn buffered(&self) -> usize {
        (self.length % BLOCK_BYTES as u64) as usize
    }

    #[inline(never)]
    fn clear(&mut self) {
        self.length = 0;
        self.state = [0; 8];
        self.block = [0; BLOCK_BYTES];
        optimization_barrier(self);
    }
}

/// Compresses `blocks` into `state`.
fn compress(compression: Compression, state: &mut [u32; 8], blocks: &[[u8; BLOCK_BYTES]]) {
    // SAFETY: `update_by` and `finish_into_by` have asserted that it is available.
    unsafe { (compression.0.compress)(state, blocks) }
}

/// Wipes what `absorb` and `pad` leave below the caller's frame, and the registers.
#[inline(always)]
fn wipe(compression: Compression) {
    machine::erase_stack_of(compression.0.stack_bytes);
    machine::wipe_all_registers();
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Drop for Sha256 {
    #[inline]
    fn drop(&mut self) {
        self.clear();
    }
}

impl ZeroizeOnDrop for Sha256 {}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sha256").finish_non_exhaustive()
    }
}
