//! Fortuna's accumulator: 32 pools that fill at the same pace and are emptied at very different ones.
//!
//! Whoever feeds the pools with events that an attacker knows can follow pool 0, and perhaps pool 1, from
//! reseed to reseed. Pool i is used in every 2^i-th reseed only, so that some pool gathers enough of what
//! the attacker does not know before it is used (FS&K 9.5).

use crate::harvest::Event;
use crate::hash::{DIGEST_BYTES, finish_twice};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The number of pools: at ten reseeds a second the last is used once in 6.8 years (FS&K 9.5.2).
pub const POOLS: usize = 32;

/// The bytes in pool 0 below which no reseed happens (FS&K's MinPoolSize, FreeBSD's
/// `RANDOM_FORTUNA_DEFPOOLSIZE`).
pub const MIN_POOL_BYTES: u32 = 64;

/// The least time between two reseeds: 100 ms (FS&K 9.5.5), against an attacker who drains the pools by
/// asking.
pub const RESEED_INTERVAL_MS: u64 = 100;

/// What a digest can carry at most, in bits.
const POOL_CREDIT_BITS: u32 = 8 * DIGEST_BYTES as u32;

/// One pool: a running hash, how much went into it, and what that was credited.
#[derive(Default)]
struct Pool {
    hash: Sha256,
    length_bytes: u32,
    credit_bits: u32,
}

impl Pool {
    fn absorb(&mut self, event: &Event) {
        self.hash.update(event.counter().to_le_bytes());
        self.hash.update(event.data());
        let length_bytes = 4 + event.data().len() as u32;
        self.length_bytes = self.length_bytes.saturating_add(length_bytes);
        self.credit_bits = (self.credit_bits + event.credit_bits()).min(POOL_CREDIT_BITS);
    }
}

/// The 32 pools and the clock of their reseeds. One owner at a time.
#[derive(Default)]
pub struct Accumulator {
    pools: [Pool; POOLS],
    reseeds: u32,
    last_reseed_ms: Option<u64>,
}

impl Accumulator {
    /// Adds an event to its pool (FS&K 9.5.6, AddRandomEvent).
    pub fn absorb(&mut self, event: &Event) {
        self.pools[event.pool()].absorb(event);
    }

    /// Takes the seed of the next reseed, if one is due at `now_ms` (any clock that does not go back).
    ///
    /// FS&K 9.5.5, RandomData: "if length(P0) >= MinPoolSize and the last reseed is more than 100 ms ago:
    /// we need to reseed. ReseedCnt = ReseedCnt + 1; append the hashes of all the pools we will use: for i
    /// in 0..31, if 2^i divides ReseedCnt: s = s || SHAd-256(P_i), P_i = empty".
    pub fn take_seed(&mut self, now_ms: u64) -> Option<Seed> {
        let paced = self
            .last_reseed_ms
            .is_none_or(|last_ms| now_ms.saturating_sub(last_ms) >= RESEED_INTERVAL_MS);
        if paced {
            self.take_seed_unpaced(now_ms)
        } else {
            None
        }
    }

    /// As [`take_seed`](Self::take_seed), but however long ago the last reseed was: for an operator's command,
    /// which no attacker gives.
    pub fn take_seed_unpaced(&mut self, now_ms: u64) -> Option<Seed> {
        if self.pools[0].length_bytes < MIN_POOL_BYTES {
            return None;
        }
        self.last_reseed_ms = Some(now_ms);
        self.reseeds = self.reseeds.wrapping_add(1);
        let mut seed = Seed::default();
        for (i, pool) in self.pools.iter_mut().enumerate() {
            if !self.reseeds.is_multiple_of(1 << i) {
                break;
            }
            let pool = core::mem::take(pool);
            let mut digest = finish_twice(pool.hash);
            seed.append(&digest, pool.credit_bits);
            digest.zeroize();
        }
        Some(seed)
    }

    /// The seeds taken so far, modulo 2^32: FS&K's ReseedCnt.
    #[must_use]
    pub const fn reseeds(&self) -> u32 {
        self.reseeds
    }

    /// The bytes in pool 0, event headers included.
    #[must_use]
    pub const fn first_pool_bytes(&self) -> u32 {
        self.pools[0].length_bytes
    }
}

/// The material of one reseed: 32 bytes for each pool used, at most 1024, wiped on drop.
pub struct Seed {
    /// Zeros from `length_bytes` on.
    bytes: [u8; Self::MAX_BYTES],
    length_bytes: usize,
    credit_bits: u32,
}

impl Seed {
    /// The longest seed in bytes.
    pub const MAX_BYTES: usize = POOLS * DIGEST_BYTES;

    /// A seed of up to [`MAX_BYTES`](Self::MAX_BYTES) given bytes; what is longer is cut.
    #[must_use]
    pub fn new(bytes: &[u8], credit_bits: u32) -> Self {
        let mut seed = Self::default();
        seed.append(&bytes[..bytes.len().min(Self::MAX_BYTES)], credit_bits);
        seed
    }

    /// A seed of `length_bytes`, which `write` writes in its place.
    pub(crate) fn written(
        length_bytes: usize,
        credit_bits: u32,
        write: impl FnOnce(&mut [u8]),
    ) -> Self {
        let mut seed = Self {
            length_bytes,
            credit_bits,
            ..Self::default()
        };
        write(&mut seed.bytes[..length_bytes]);
        seed
    }

    fn append(&mut self, bytes: &[u8], credit_bits: u32) {
        let end = self.length_bytes + bytes.len();
        self.bytes[self.length_bytes..end].copy_from_slice(bytes);
        self.length_bytes = end;
        self.credit_bits += credit_bits;
    }

    /// The material.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length_bytes]
    }

    /// The min-entropy its events were credited, in bits.
    #[must_use]
    pub const fn credit_bits(&self) -> u32 {
        self.credit_bits
    }
}

impl Drop for Seed {
    /// Wipes what it has, which is one pool's or two's as a rule: a node waits for it.
    fn drop(&mut self) {
        self.bytes[..self.length_bytes].zeroize();
    }
}

impl ZeroizeOnDrop for Seed {}

impl Default for Seed {
    fn default() -> Self {
        Self {
            bytes: [0; Self::MAX_BYTES],
            length_bytes: 0,
            credit_bits: 0,
        }
    }
}
