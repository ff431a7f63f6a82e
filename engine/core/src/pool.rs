//! Fortuna's accumulator: 32 pools that fill at the same pace and empty at very different paces.
//!
//! An attacker who makes some of the events can follow pool 0, and perhaps pool 1, from reseed to reseed. Pool i is used
//! only in every 2^i-th reseed, so that before its use some pool collects enough entropy that the attacker does not know
//! (FS&K 9.5).

use crate::event::Event;
use crate::generator::{DIGEST_BYTES, Sha256, finish_twice};
use crate::node::{READY_BITS, Seed};

pub use crate::event::POOLS;

const _: () = assert!(POOLS * DIGEST_BYTES == Seed::MAX_BYTES);

/// The bytes in pool 0 below which no reseed happens (FS&K's MinPoolSize, FreeBSD's
/// `RANDOM_FORTUNA_DEFPOOLSIZE`).
pub const MIN_POOL_BYTES: u32 = 64;

/// The least time between two reseeds: 100 ms (FS&K 9.5.5), against an attacker who drains the pools by
/// asking.
pub const RESEED_INTERVAL_MS: u64 = 100;

/// The most min-entropy that a digest can carry, in bits.
const POOL_CREDIT_BITS: u32 = 8 * DIGEST_BYTES as u32;

/// When a reseed may happen, and from which pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Fortuna's rule: when pool 0 has 64 bytes and the last reseed is 100 ms ago.
    Scheduled,
    /// When pool 0 has 64 bytes, without the 100 ms: an operator says so, and no attacker gives that command.
    Forced,
    /// Before an engine is ready: when all pools together have [`READY_BITS`] of credit; and then of all pools, unless
    /// pool 0 alone has as much. Less credit stays in the pools. If each small credit made a seed of its own, an attacker
    /// who reads early could guess them one by one.
    Pooled,
}

/// One pool: a running hash, how much went into it, and what that was credited.
#[repr(C)]
struct Pool {
    hash: Sha256,
    length_bytes: u32,
    credit_bits: u32,
}

impl Pool {
    const ZERO: Self = Self {
        hash: Sha256::ZERO,
        length_bytes: 0,
        credit_bits: 0,
    };

    fn absorb(&mut self, event: &Event) {
        self.mix(event);
        let length_bytes = 4 + event.data().len() as u32;
        self.length_bytes = self.length_bytes.saturating_add(length_bytes);
        self.credit_bits = (self.credit_bits + event.credit_bits()).min(POOL_CREDIT_BITS);
    }

    /// Adds an event and counts neither its bytes nor its credit.
    fn mix(&mut self, event: &Event) {
        self.hash.update(&event.counter().to_le_bytes());
        self.hash.update(event.data());
    }

    /// Appends the pool's digest to a seed; the pool is empty then.
    fn empty_into(&mut self, seed: &mut Seed) {
        finish_twice(&mut self.hash, seed.next_place(self.credit_bits));
        self.length_bytes = 0;
        self.credit_bits = 0;
    }
}

/// The 32 pools and the clock of their reseeds. One owner at a time.
#[repr(C)]
pub struct Accumulator {
    pools: [Pool; POOLS],
    last_reseed_ms: u64,
    reseeds: u32,
    /// The pool of the next event that is mixed in, modulo 32.
    next_mixed: u32,
}

impl Accumulator {
    /// The value of zeroed memory: empty pools and no reseed so far.
    pub const ZERO: Self = Self {
        pools: [const { Pool::ZERO }; POOLS],
        last_reseed_ms: 0,
        reseeds: 0,
        next_mixed: 0,
    };

    /// Adds an event to its pool (FS&K 9.5.6, AddRandomEvent).
    pub fn absorb(&mut self, event: &Event) {
        self.pools[event.pool()].absorb(event);
    }

    /// Adds an event of unknown origin to the pools, by turns. It counts for nothing: no amount of such data makes a
    /// reseed due. Otherwise a flood of it would empty the pools every 100 ms.
    pub fn mix(&mut self, event: &Event) {
        self.pools[self.next_mixed as usize % POOLS].mix(event);
        self.next_mixed = self.next_mixed.wrapping_add(1);
    }

    /// Writes the seed of the next reseed to `seed`, over its old content, if a reseed is due at `now_ms`.
    /// Returns whether it is; if not, `seed` is unchanged.
    ///
    /// FS&K 9.5.5, RandomData: "if length(P0) >= MinPoolSize and the last reseed is more than 100 ms ago:
    /// we need to reseed. ReseedCnt = ReseedCnt + 1; append the hashes of all the pools we will use: for i
    /// in 0..31, if 2^i divides ReseedCnt: s = s || SHAd-256(P_i), P_i = empty".
    pub fn take_seed(&mut self, now_ms: u64, trigger: Trigger, seed: &mut Seed) -> bool {
        if !self.is_due(now_ms, trigger) {
            return false;
        }
        self.last_reseed_ms = now_ms;
        self.reseeds = self.reseeds.wrapping_add(1);
        seed.clear();
        let takes_all = trigger == Trigger::Pooled && self.pools[0].credit_bits < READY_BITS;
        for (i, pool) in self.pools.iter_mut().enumerate() {
            if !takes_all && !self.reseeds.is_multiple_of(1 << i) {
                break;
            }
            pool.empty_into(seed);
        }
        true
    }

    /// Whether [`take_seed`](Self::take_seed) would yield a seed at `now_ms`.
    ///
    /// A clock that goes back makes a reseed due at once: it is the sign of a machine or process that was restored from
    /// a copy, and waiting for the old time could take days.
    #[must_use]
    pub fn is_due(&self, now_ms: u64, trigger: Trigger) -> bool {
        let has_bytes = self.pools[0].length_bytes >= MIN_POOL_BYTES;
        match trigger {
            Trigger::Scheduled => has_bytes && self.is_time(now_ms),
            Trigger::Forced => has_bytes,
            Trigger::Pooled => self.credit_bits() >= READY_BITS,
        }
    }

    fn is_time(&self, now_ms: u64) -> bool {
        match now_ms.checked_sub(self.last_reseed_ms) {
            // No reseed so far; or 2^32, and then an early reseed costs nothing.
            _ if self.reseeds == 0 => true,
            // The clock went back.
            None => true,
            Some(passed_ms) => passed_ms >= RESEED_INTERVAL_MS,
        }
    }

    /// The credit of all pools together, in bits.
    fn credit_bits(&self) -> u32 {
        self.pools.iter().map(|pool| pool.credit_bits).sum()
    }

    /// The seeds taken so far, modulo 2^32: FS&K's ReseedCnt.
    #[must_use]
    pub const fn reseeds(&self) -> u32 {
        self.reseeds
    }

    /// The bytes of the events that were [absorbed](Self::absorb) by a pool, headers included, and their credit in bits,
    /// at most 256.
    ///
    /// # Panics
    ///
    /// If there is no such pool.
    #[must_use]
    pub const fn fill_of(&self, pool: usize) -> (u32, u32) {
        let pool = &self.pools[pool];
        (pool.length_bytes, pool.credit_bits)
    }

    /// The bytes in pool 0, event headers included.
    #[must_use]
    pub const fn first_pool_bytes(&self) -> u32 {
        self.pools[0].length_bytes
    }
}
