//! How a thread that sleeps is woken.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::{read, write};
use rustix::time::Timespec;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The time was over, or a signal came.
    Time,
    /// Someone rang.
    Bell,
    /// A descriptor has something to read.
    Descriptor,
}

/// A bell that one thread listens for in its sleep, and descriptors with it.
///
/// A child process shares it with its parent and has to leave it alone: the ring would be heard there.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A bell; `None` if the system has no descriptor left.
    #[must_use]
    pub fn new() -> Option<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        eventfd(0, flags).ok().map(Self)
    }

    /// Wakes who listens, or will: once, however often it rang before.
    pub fn ring(&self) {
        // Fails only when 2^64 - 2 rings were not heard.
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }

    /// Sleeps for at most `timeout_ms`, until the bell rings or one of `others` has something to read, or is at
    /// its end.
    pub fn wait<'a>(
        &'a self,
        others: impl Iterator<Item = BorrowedFd<'a>>,
        timeout_ms: u64,
    ) -> Woken {
        let readable = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
        let mut polled: Vec<PollFd<'_>> = std::iter::once(self.0.as_fd())
            .chain(others)
            .map(readable)
            .collect();
        let timeout = Timespec {
            tv_sec: (timeout_ms / 1000) as i64,
            tv_nsec: (timeout_ms % 1000 * 1_000_000) as _,
        };
        let rung = |polled: &PollFd<'_>| !polled.revents().is_empty();
        match poll(&mut polled, Some(&timeout)) {
            Ok(1..) if rung(&polled[0]) => {
                let _ = read(&self.0, &mut [0; 8]);
                Woken::Bell
            }
            Ok(1..) => Woken::Descriptor,
            Ok(0) | Err(_) => Woken::Time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_ring_before_the_sleep_is_heard_once() {
        let bell = Bell::new().unwrap();
        bell.ring();
        bell.ring();
        assert_eq!(bell.wait(std::iter::empty(), 60_000), Woken::Bell);
        assert_eq!(bell.wait(std::iter::empty(), 1), Woken::Time);
    }

    #[test]
    fn a_sleeper_is_woken_by_another_thread_and_by_a_descriptor() {
        let (bell, other) = (Bell::new().unwrap(), Bell::new().unwrap());
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                bell.ring();
            });
            assert_eq!(
                bell.wait([other.0.as_fd()].into_iter(), 60_000),
                Woken::Bell
            );
        });
        assert!(start.elapsed() >= Duration::from_millis(20));
        other.ring();
        let woken = bell.wait([other.0.as_fd()].into_iter(), 60_000);
        assert_eq!(woken, Woken::Descriptor);
    }
}
