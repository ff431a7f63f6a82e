//! How a thread that sleeps is woken.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The reason why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// The time was over.
    Timeout,
    /// Another thread called [`Waker::wake`].
    Woken,
    /// A descriptor has something to read. Not on this system, which has no descriptor that reports a clone.
    Descriptor,
}

/// Wakes one sleeping thread.
#[derive(Debug)]
pub struct Waker {
    is_woken: Mutex<bool>,
    changed: Condvar,
}

impl Waker {
    /// A new waker.
    #[must_use]
    #[allow(clippy::unnecessary_wraps)] // Linux may have no descriptor left.
    pub fn new() -> Option<Self> {
        Some(Self {
            is_woken: Mutex::new(false),
            changed: Condvar::new(),
        })
    }

    /// Wakes the waiting thread, or the next thread to wait. Any number of calls wake it once.
    pub fn wake(&self) {
        *self.is_woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Sleeps for at most `timeout_ms` milliseconds, until [`wake`](Self::wake) is called.
    pub fn wait<T>(&self, _: impl Iterator<Item = T>, timeout_ms: u64) -> WakeReason {
        let end = Instant::now().checked_add(Duration::from_millis(timeout_ms));
        let mut is_woken = self.is_woken.lock().unwrap_or_else(PoisonError::into_inner);
        while !core::mem::take(&mut *is_woken) {
            // Without an end: the longest that Linux waits, 24 days.
            let left = end.map_or(Duration::from_millis(1 << 31), |end| {
                end.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return WakeReason::Timeout;
            }
            let woken = self.changed.wait_timeout(is_woken, left);
            is_woken = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        WakeReason::Woken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_before_the_sleep_ends_one_sleep() {
        let waker = Waker::new().unwrap();
        waker.wake();
        waker.wake();
        let none = std::iter::empty::<()>;
        assert_eq!(waker.wait(none(), 60_000), WakeReason::Woken);
        assert_eq!(waker.wait(none(), 1), WakeReason::Timeout);
    }

    #[test]
    fn a_sleeper_is_woken_by_another_thread() {
        let waker = Waker::new().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| waker.wake());
            let woken = waker.wait(std::iter::empty::<()>(), 60_000);
            assert_eq!(woken, WakeReason::Woken);
        });
    }
}
