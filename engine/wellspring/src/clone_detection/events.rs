//! Notices that the machine was cloned, for a thread that waits for them.

use super::CloneEvent;
use super::kernel_log::KernelLog;
use super::suspend::SuspendDetector;
use super::vmclock::DEFAULT_PATH;
use super::watched_clock::WatchedClock;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use wellspring_os::os::now_ns;

/// Reads the kernel's log, and looks at the hypervisor's page and at the clocks.
#[derive(Debug)]
pub struct CloneEvents {
    log: Option<KernelLog>,
    vmclock: Option<WatchedClock>,
    suspend: SuspendDetector,
    /// The time of the last look.
    last_ns: u64,
}

impl CloneEvents {
    /// Listens from now on. Where the kernel's log is out of reach (without CAP_SYSLOG), the clocks are left.
    #[must_use]
    pub fn new() -> Self {
        Self::with_vmclock(Path::new(DEFAULT_PATH))
    }

    /// Like [`new`](Self::new), with the device of the hypervisor's page.
    #[must_use]
    pub fn with_vmclock(device: &Path) -> Self {
        let suspend = SuspendDetector::new();
        suspend.was_suspended();
        Self {
            log: KernelLog::open(),
            vmclock: WatchedClock::open(device),
            suspend,
            last_ns: now_ns(),
        }
    }

    /// Descriptors that become readable when [`next_event`](Self::next_event) should be called. Call it once a second all
    /// the same: not every notice makes one readable.
    pub fn wakes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let vmclock = self.vmclock.as_ref().and_then(WatchedClock::wakes);
        let log = self.log.as_ref().map(|log| log.0.as_fd());
        log.into_iter().chain(vmclock)
    }

    /// The next event, without waiting for one. Call it until it returns `None`.
    pub fn next_event(&mut self) -> Option<CloneEvent> {
        let told = self.log.as_ref().and_then(KernelLog::next);
        if told.is_some() {
            return told;
        }
        if self.vmclock.as_mut().is_some_and(WatchedClock::has_changed) {
            return Some(CloneEvent::Cloned);
        }
        let now_ns = now_ns();
        if now_ns < core::mem::replace(&mut self.last_ns, now_ns) {
            return Some(CloneEvent::ClockWentBack);
        }
        self.suspend.was_suspended().then_some(CloneEvent::Slept)
    }
}

impl Default for CloneEvents {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_goes_back_is_told_once() {
        let mut events = CloneEvents::with_vmclock(Path::new("/none"));
        events.last_ns = u64::MAX;
        // Another event, which a busy machine may have at any time, comes before it or after it.
        let told = std::iter::from_fn(|| events.next_event());
        let told = told.filter(|event| *event == CloneEvent::ClockWentBack);
        assert_eq!(told.count(), 1);
    }
}
