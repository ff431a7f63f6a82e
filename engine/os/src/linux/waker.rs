//! How a thread that sleeps is woken.

use crate::os_error::raw_call;
use rustix::io::{read, write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

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
        let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
        // SAFETY: eventfd(2) takes two numbers.
        let descriptor = raw_call(|| unsafe { libc::syscall(libc::SYS_eventfd2, 0, flags) });
        // SAFETY: the descriptor is new, and nothing else owns it.
        let own = |descriptor| unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) };
        descriptor.ok().map(own).map(Self)
    }

    /// Wakes the waiting thread, or the next thread to wait. Any number of calls wake it once.
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
        let readable = |descriptor: BorrowedFd<'_>| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut polled: Vec<libc::pollfd> = std::iter::once(self.0.as_fd())
            .chain(others)
            .map(readable)
            .collect();
        // The longest that poll(2) takes: 24 days.
        let timeout_ms = libc::c_int::try_from(timeout_ms).unwrap_or(libc::c_int::MAX);
        let count = polled.len() as libc::nfds_t;
        let start = polled.as_mut_ptr();
        // SAFETY: the pointer is to that many structures, and their descriptors are open.
        match raw_call(|| unsafe { libc::poll(start, count, timeout_ms) }.into()) {
            Ok(1..) if polled[0].revents != 0 => {
                let _ = read(&self.0, &mut [0; 8]);
                WakeReason::Woken
            }
            Ok(1..) => WakeReason::Descriptor,
            Ok(_) | Err(_) => WakeReason::Timeout,
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
