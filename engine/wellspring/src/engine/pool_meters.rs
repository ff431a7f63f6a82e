//! How full the pools are, for the stats: copied from the pools by the thread that holds their lock, so that looking at
//! them takes no lock.

use super::stats::PoolStats;
use core::sync::atomic::{AtomicU32, Ordering};
use wellspring_core::pool::{Accumulator, POOLS};

/// The fill of one pool.
#[derive(Default)]
struct PoolMeter {
    bytes: AtomicU32,
    credit_bits: AtomicU32,
}

/// The fill of all pools. In ordinary memory: it is no secret.
#[derive(Default)]
pub(super) struct PoolMeters([PoolMeter; POOLS]);

impl PoolMeters {
    /// Copies the fill of the pools, which have just changed.
    pub(super) fn copy(&self, pools: &Accumulator) {
        (0..POOLS).for_each(|number| self.copy_one(pools, number));
    }

    /// Copies the fill of one pool, which has just changed. All of them are on some 60 cache lines.
    pub(super) fn copy_one(&self, pools: &Accumulator, number: usize) {
        let (bytes, credit_bits) = pools.fill_of(number);
        let meter = &self.0[number];
        meter.bytes.store(bytes, Ordering::Relaxed);
        meter.credit_bits.store(credit_bits, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> Vec<PoolStats> {
        let stats = |meter: &PoolMeter| PoolStats {
            bytes: meter.bytes.load(Ordering::Relaxed),
            credit_bits: meter.credit_bits.load(Ordering::Relaxed),
        };
        self.0.iter().map(stats).collect()
    }
}
