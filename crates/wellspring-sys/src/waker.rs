//! How a thread that sleeps is woken.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::{read, write};
use rustix::time::Timespec;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The reason why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// The time was over, or a signal came.
    Timeout,
    /// Another thread called [`Waker::wake`].
    Woken,
    /// A descriptor has something to read, or is at its end.
    Descriptor,
}

/// Wakes one sleeping thread. An eventfd(2).
///
/// A child process shares it with its parent and must not use it: the parent's thread would wake up.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// A new waker; `None` if the system has no descriptor left.
    #[must_use]
    pub fn new() -> Option<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        eventfd(0, flags).ok().map(Self)
    }

    /// Wakes the thread that waits, or the next one that will. Any number of calls wake it once.
    pub fn wake(&self) {
        // Fails only after 2^64 - 2 calls without a wait between them.
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }

    /// Sleeps for at most `timeout_ms` milliseconds, until [`wake`](Self::wake) is called or one of `others` has
    /// something to read or is at its end.
    pub fn wait<'a>(
        &'a self,
        others: impl Iterator<Item = BorrowedFd<'a>>,
        timeout_ms: u64,
    ) -> WakeReason {
        let readable = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
        let mut polled: Vec<PollFd<'_>> = std::iter::once(self.0.as_fd())
            .chain(others)
            .map(readable)
            .collect();
        let timeout = Timespec {
            tv_sec: (timeout_ms / 1000).try_into().unwrap_or(i64::MAX),
            tv_nsec: (timeout_ms % 1000 * 1_000_000) as _,
        };
        let is_ready = |polled: &PollFd<'_>| !polled.revents().is_empty();
        match poll(&mut polled, Some(&timeout)) {
            Ok(1..) if is_ready(&polled[0]) => {
                let _ = read(&self.0, &mut [0; 8]);
                WakeReason::Woken
            }
            Ok(1..) => WakeReason::Descriptor,
            Ok(0) | Err(_) => WakeReason::Timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_wake_before_the_sleep_ends_one_sleep() {
        let waker = Waker::new().unwrap();
        waker.wake();
        waker.wake();
        assert_eq!(waker.wait(std::iter::empty(), 60_000), WakeReason::Woken);
        assert_eq!(waker.wait(std::iter::empty(), 1), WakeReason::Timeout);
    }

    #[test]
    fn a_sleeper_is_woken_by_another_thread_and_by_a_descriptor() {
        let (waker, other) = (Waker::new().unwrap(), Waker::new().unwrap());
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                waker.wake();
            });
            assert_eq!(
                waker.wait([other.0.as_fd()].into_iter(), 60_000),
                WakeReason::Woken
            );
        });
        assert!(start.elapsed() >= Duration::from_millis(20));
        other.wake();
        let woken = waker.wait([other.0.as_fd()].into_iter(), 60_000);
        assert_eq!(woken, WakeReason::Descriptor);
    }
}
