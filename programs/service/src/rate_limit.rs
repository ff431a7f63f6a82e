//! A limit of bytes a second.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes may be drawn in advance for this time.
const BURST_NS: u64 = 1_000_000_000;

/// The bytes that one user or guest has drawn, against its limit.
#[derive(Debug, Default)]
pub(crate) struct RateLimit {
    /// The time until which the bytes drawn so far use it up, in nanoseconds of the service's clock.
    used_until_ns: AtomicU64,
}

impl RateLimit {
    /// Takes `bytes` at `now_ns` of `rate` bytes a second; 0: there is no limit. Returns the time to wait
    /// first, in nanoseconds. If that is not 0, nothing was taken.
    #[must_use]
    pub(crate) fn reserve(&self, rate: u64, bytes: u64, now_ns: u64) -> u64 {
        if rate == 0 {
            return 0;
        }
        let cost_ns = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
        let cost_ns = cost_ns.min(u128::from(u64::MAX / 4)) as u64;
        let mut wait_ns = 0;
        let _ = self
            .used_until_ns
            .fetch_update(Relaxed, Relaxed, |used_until_ns| {
                let from_ns = used_until_ns.max(now_ns);
                wait_ns = from_ns.saturating_sub(now_ns.saturating_add(BURST_NS));
                (wait_ns == 0).then(|| from_ns.saturating_add(cost_ns))
            });
        wait_ns
    }
}
