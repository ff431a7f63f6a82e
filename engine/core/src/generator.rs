//! Fortuna's generator: a key K, a counter C, and what changes them: reseed, canonical read, reservation.
//!
//! Bit-exact with FreeBSD's random(4), which differs from FS&K in three ways: the hash of a reseed
//! starts with a block of zeros, the counter steps *before* the first block after a reseed, and a read
//! may be served outside the lock (`fortuna_concurrent_read`).

pub(crate) use wellspring_cipher::sha256::{DIGEST_BYTES, Sha256};

use crate::wipe;
use wellspring_cipher::{Backend, KEY_BYTES, Keystream, Prf};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A request is never served more than this many bytes under one AES key: 2^20 (FS&K 9.4: with
/// so few blocks an observer cannot see that the blocks of a permutation never collide).
pub const KEY_LIMIT_BYTES: usize = 1 << 20;

/// The bytes a canonical read makes at most under one key and one hold of the lock: FreeBSD's page.
pub const CHUNK_BYTES: usize = 4096;

/// FreeBSD's `RANDOM_ZERO_BLOCKSIZE`: SHAd-256 as FS&K define it hashes a block of zeros first.
const ZERO_BLOCK: [u8; 64] = [0; 64];

/// (K, C). A counter of zero means that it was never seeded: FS&K's `C = 0`.
#[repr(C)]
pub struct Generator {
    key: [u8; KEY_BYTES],
    counter: u128,
}

impl Generator {
    /// The value of zeroed memory. FS&K 9.4.1, InitializeGenerator: "Set the key K and counter C to zero."
    pub const ZERO: Self = Self {
        key: [0; KEY_BYTES],
        counter: 0,
    };

    /// Whether it ever got a seed.
    #[must_use]
    pub const fn is_seeded(&self) -> bool {
        self.counter != 0
    }

    /// K and C: for replaying known answers, and for nothing else.
    #[must_use]
    pub const fn state(&self) -> (&[u8; KEY_BYTES], u128) {
        (&self.key, self.counter)
    }

    /// Sets K and C: for replaying known answers, and for nothing else.
    pub fn force(&mut self, key: &[u8; KEY_BYTES], counter: u128) {
        self.key.copy_from_slice(key);
        self.counter = counter;
    }

    /// FS&K 9.4.2, Reseed: "Compute the new key using a hash function: K = SHAd-256(K || s). Increment
    /// the counter to make it nonzero and mark the generator as seeded: C = C + 1."
    ///
    /// The old key is part of the hash only if there is one, which the counter tells, as in FreeBSD. Both keys stay in one place:
    /// the digest is written over the old key.
    pub fn reseed(&mut self, seed: &[u8]) {
        let mut hash = Sha256::ZERO;
        hash.update(&ZERO_BLOCK);
        if self.is_seeded() {
            hash.update(&self.key);
        }
        hash.update(seed);
        finish_twice(&mut hash, &mut self.key);
        self.counter = self.counter.wrapping_add(1);
    }

    /// One step of a canonical read: makes the first chunk of `destination` under the present key, takes a
    /// new key from the same keystream, and returns the rest of `destination`.
    ///
    /// FS&K 9.4.4, PseudoRandomData: "Compute the output. Switch to a new key to avoid later compromises of
    /// this output: K = GenerateBlocks(G, 2)." Call it until nothing is left, and once for an empty
    /// request: that rekeys too. At most [`CHUNK_BYTES`] are made. Under AES a last partial block is a chunk
    /// of its own.
    pub fn read_chunk<'a>(&mut self, backend: Backend, destination: &'a mut [u8]) -> &'a mut [u8] {
        let length = match (backend.prf(), destination.len()) {
            (Prf::Aes256, length @ 16..) => length - length % 16,
            (_, length) => length,
        };
        let (chunk, rest) = destination.split_at_mut(length.min(CHUNK_BYTES));
        let mut keystream = Keystream::new(backend, &self.key, self.counter);
        keystream.fill(chunk);
        keystream.fill(&mut self.key);
        self.counter = keystream.counter();
        rest
    }

    /// Sets `bytes` of output aside for one reader, which makes them after the lock is released.
    ///
    /// FreeBSD's `random_fortuna_read_concurrent`: copy K and C, step C over all the blocks that the request
    /// will use, take a new K from the keystream there. The reservation is then of no use for any other
    /// output, past or to come.
    ///
    /// `reservation` is written in place: a key that moves leaves copies behind.
    #[inline(never)]
    pub fn reserve(&mut self, backend: Backend, bytes: usize, reservation: &mut Reservation) {
        reservation.key.copy_from_slice(&self.key);
        reservation.counter = self.counter;
        let prf = backend.prf();
        let blocks = prf.blocks(bytes);
        let rekey_blocks = match prf {
            // "2 * floor(blocks / 65536)": two blocks for each new key in the middle of the request. A
            // request of exactly k * 65536 blocks, which is k * 2^20 bytes or up to 15 fewer, steps over
            // two blocks that it will not use.
            Prf::Aes256 => blocks / prf.blocks(KEY_LIMIT_BYTES) * prf.blocks(KEY_BYTES),
            Prf::ChaCha20 => 0,
        };
        let next = self.counter.wrapping_add(blocks + rekey_blocks);
        let mut keystream = Keystream::new(backend, &self.key, next);
        keystream.fill(&mut self.key);
        self.counter = keystream.counter();
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        wipe(&mut self.key);
        self.counter.zeroize();
    }
}

impl ZeroizeOnDrop for Generator {}

/// A copy of (K, C) as it was for one request: written in place, wiped on drop.
#[repr(C)]
pub struct Reservation {
    key: [u8; KEY_BYTES],
    counter: u128,
}

impl Reservation {
    /// Nothing reserved.
    pub const ZERO: Self = Self {
        key: [0; KEY_BYTES],
        counter: 0,
    };

    /// Makes the bytes that were reserved. `destination` has the length that was reserved.
    ///
    /// AES-256 changes its key every [`KEY_LIMIT_BYTES`] while bytes remain; ChaCha20 needs no new key at any
    /// length.
    pub fn generate(&mut self, backend: Backend, destination: &mut [u8]) {
        let limit = match backend.prf() {
            Prf::Aes256 => KEY_LIMIT_BYTES,
            Prf::ChaCha20 => usize::MAX,
        };
        let mut rest = destination;
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at_mut(limit.min(rest.len()));
            let mut keystream = Keystream::new(backend, &self.key, self.counter);
            keystream.fill(chunk);
            if !after.is_empty() {
                keystream.fill(&mut self.key);
                self.counter = keystream.counter();
            }
            rest = after;
        }
    }

    /// Wipes it: nothing is reserved then.
    pub fn clear(&mut self) {
        wipe(&mut self.key);
        self.counter.zeroize();
    }
}

impl Drop for Reservation {
    #[inline]
    fn drop(&mut self) {
        self.clear();
    }
}

impl ZeroizeOnDrop for Reservation {}

/// Writes SHA256(SHA256(what `hash` has absorbed)) to `digest`; the hash is empty then.
#[inline]
pub(crate) fn finish_twice(hash: &mut Sha256, digest: &mut [u8; DIGEST_BYTES]) {
    hash.finish_into(digest);
    hash.update(digest);
    hash.finish_into(digest);
}

/// Writes SHAd-256 of the concatenated `parts` to `digest`.
pub(crate) fn sha_d256_into(parts: &[&[u8]], digest: &mut [u8; DIGEST_BYTES]) {
    let mut hash = Sha256::ZERO;
    for part in parts {
        hash.update(part);
    }
    finish_twice(&mut hash, digest);
}

/// A hash that has absorbed a purpose and the number of a node, so that its digest is for that node alone.
#[inline(never)]
pub(crate) fn for_node(purpose: &[u8], number: usize) -> Sha256 {
    let mut hash = Sha256::ZERO;
    hash.update(purpose);
    hash.update(&(number as u64).to_le_bytes());
    hash
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The digest of FIPS 180-4's example, hashed once more (by Python's hashlib).
    #[test]
    fn a_hash_that_was_finished_is_empty_and_hashes_right_again() {
        let mut hash = Sha256::ZERO;
        for _ in 0..2 {
            let mut digest = [0; DIGEST_BYTES];
            hash.update(b"a");
            hash.update(b"bc");
            finish_twice(&mut hash, &mut digest);
            assert_eq!(
                digest[..8],
                [0x4f, 0x8b, 0x42, 0xc2, 0x2d, 0xd3, 0x72, 0x9b]
            );
        }
    }
}
