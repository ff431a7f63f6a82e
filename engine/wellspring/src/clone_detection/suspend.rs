//! Notices that the machine was suspended.

use core::sync::atomic::{AtomicU64, Ordering};
use wellspring_os::os::{now_ns, now_with_sleep_ns};

/// How much the two clocks must differ before it counts as a suspend.
const MIN_SUSPEND_MS: u64 = 20;

/// Notices that the machine was suspended. One atomic word: a lock would stay locked in a child process, if a thread of
/// the parent held it during the fork.
#[derive(Debug)]
pub(super) struct SuspendDetector {
    /// The time asleep at the last look, plus 1; 0 before the first look.
    last_ms: AtomicU64,
}

impl SuspendDetector {
    pub(super) const fn new() -> Self {
        Self {
            last_ms: AtomicU64::new(0),
        }
    }

    /// Whether the machine was suspended since the last call.
    pub(super) fn was_suspended(&self) -> bool {
        self.compare(asleep_ms())
    }

    /// The same, for a given time asleep since boot.
    pub(super) fn compare(&self, asleep_ms: u64) -> bool {
        match self.last_ms.swap(asleep_ms + 1, Ordering::Relaxed) {
            0 => false,
            last_ms => (asleep_ms + 1).abs_diff(last_ms) >= MIN_SUSPEND_MS,
        }
    }
}

/// The time that the machine was suspended since boot, in milliseconds: CLOCK_BOOTTIME counts it and CLOCK_MONOTONIC
/// does not. No system call.
pub(super) fn asleep_ms() -> u64 {
    if cfg!(miri) {
        return 0; // It does not know CLOCK_BOOTTIME.
    }
    // A thread that is interrupted between two clocks sees them differ: repeat until it was quick.
    loop {
        let before = now_with_sleep_ns();
        let awake = now_ns();
        if now_with_sleep_ns().saturating_sub(before) < 1_000_000 * MIN_SUSPEND_MS / 4 {
            return before.saturating_sub(awake) / 1_000_000;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspend_is_noticed_once_and_only_when_it_was_long_enough() {
        let detector = SuspendDetector::new();
        let times = [5000, 5000, 5001, 5002, 9000, 9000, 9019];
        let noticed = times.map(|ms| detector.compare(ms));
        assert_eq!(noticed, [false, false, false, false, true, false, false]);
    }

    #[test]
    fn a_machine_that_is_awake_was_not_suspended() {
        let detector = SuspendDetector::new();
        assert!((0..100_000).all(|_| !detector.was_suspended()));
    }
}
