//! A buffer for the material of one reseed. The buffer is never copied.

use crate::sync::WORD_BYTES;
use core::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The credit, in bits, that one seed must have brought to node 0 before other nodes serve readers. Credits of several
/// seeds are not added: an attacker who reads between two small ones can guess each alone.
pub const READY_BITS: u32 = 128;

/// Up to 1024 bytes of seed and their credit: 32 bytes for each pool that a reseed uses.
///
/// It is written, hashed and wiped in place, since a value that moves leaves copies on the stack from which past
/// output can be computed. So nothing returns a seed, and it cannot be cloned. It is wiped by [`clear`](Self::clear)
/// and on drop.
#[repr(C)]
pub struct Seed {
    /// Zeros from `length_bytes` on.
    bytes: [u8; Self::MAX_BYTES],
    length_bytes: u32,
    credit_bits: u32,
}

impl Seed {
    /// The longest seed in bytes: 32 digests of 32 bytes.
    pub const MAX_BYTES: usize = 1024;

    /// The value of zeroed memory: an empty seed.
    pub const ZERO: Self = Self {
        bytes: [0; Self::MAX_BYTES],
        length_bytes: 0,
        credit_bits: 0,
    };

    /// Replaces the seed by up to [`MAX_BYTES`](Self::MAX_BYTES) bytes; the rest is cut.
    pub fn set(&mut self, bytes: &[u8], credit_bits: u32) {
        self.clear();
        self.append(bytes, credit_bits);
    }

    /// Adds bytes and their credit, as many as there is room for.
    pub fn append(&mut self, bytes: &[u8], credit_bits: u32) {
        let length = bytes.len().min(Self::MAX_BYTES - self.length());
        let place = self.extend(length, credit_bits);
        place.copy_from_slice(&bytes[..length]);
    }

    /// Adds 32 bytes, zeros so far, and their credit. Returns the place to write them to.
    ///
    /// # Panics
    ///
    /// When fewer than 32 bytes are free.
    pub fn next_place(&mut self, credit_bits: u32) -> &mut [u8; 32] {
        let place = self.extend(32, credit_bits);
        place.first_chunk_mut().expect("32 bytes")
    }

    /// The material.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length()]
    }

    /// The min-entropy that it is credited, in bits.
    #[must_use]
    pub const fn credit_bits(&self) -> u32 {
        self.credit_bits
    }

    /// Wipes the seed: it is empty then.
    ///
    /// Writes only the bytes that it has, usually 32 or 64: a node's lock is held meanwhile.
    #[inline(never)]
    pub fn clear(&mut self) {
        let length = self.length();
        self.bytes[..length].zeroize();
        self.length_bytes.zeroize();
        self.credit_bits.zeroize();
    }

    /// The material in whole words, padded with zeros.
    pub(crate) fn words(&self) -> &[[u8; WORD_BYTES]] {
        let padded = self.length().next_multiple_of(WORD_BYTES);
        self.bytes[..padded].as_chunks().0
    }

    /// Wipes the seed and makes room for another, whose words, padded with zeros, go to the place returned.
    pub(crate) fn replace(
        &mut self,
        length_bytes: usize,
        credit_bits: u32,
    ) -> &mut [[u8; WORD_BYTES]] {
        self.clear();
        let length = length_bytes.min(Self::MAX_BYTES);
        self.extend(length, credit_bits);
        self.bytes[..length.next_multiple_of(WORD_BYTES)]
            .as_chunks_mut()
            .0
    }

    const fn length(&self) -> usize {
        self.length_bytes as usize
    }

    #[inline(never)]
    fn extend(&mut self, bytes: usize, credit_bits: u32) -> &mut [u8] {
        let start = self.length();
        self.length_bytes += bytes as u32;
        self.credit_bits = self.credit_bits.saturating_add(credit_bits);
        &mut self.bytes[start..start + bytes]
    }
}

impl Zeroize for Seed {
    fn zeroize(&mut self) {
        self.clear();
    }
}

impl Drop for Seed {
    #[inline]
    fn drop(&mut self) {
        self.clear();
    }
}

impl ZeroizeOnDrop for Seed {}

impl fmt::Debug for Seed {
    /// Shows no material.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seed")
            .field("length_bytes", &self.length_bytes)
            .field("credit_bits", &self.credit_bits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_than_a_seed_is_cut_and_what_is_cleared_is_gone() {
        let mut seed = Seed::ZERO;
        seed.set(&[1; 1000], 10);
        seed.append(&[2; 1000], 5);
        assert_eq!(seed.bytes().len(), 1024);
        assert_eq!(seed.bytes()[1000..], [2; 24]);
        assert_eq!(seed.credit_bits(), 15);
        seed.clear();
        assert_eq!((seed.bytes(), seed.credit_bits()), (&[][..], 0));
        assert_eq!(seed.bytes, [0; 1024]);
    }

    #[test]
    fn a_digest_is_written_in_its_place() {
        let mut seed = Seed::ZERO;
        seed.append(b"x", 1);
        *seed.next_place(2) = [9; 32];
        assert_eq!(seed.bytes()[1..], [9; 32]);
        assert_eq!(seed.credit_bits(), 3);
    }
}
