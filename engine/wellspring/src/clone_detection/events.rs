//! Notices that the machine was cloned, for a thread that waits for that. It watches the kernel's log, where the kernel says
//! that it reseeded its generator because the machine was cloned (vmgenid), the hypervisor's page, and the clocks.
//!
//! No other sign of vmgenid reaches user space: Linux 6.12 and 7.3 of Debian send no device event (measured in the rig).

use super::CloneEvent;
use super::detector::SuspendDetector;
use super::page::{VMCLOCK_PATH, map_vmclock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, pread, read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use wellspring_os::descriptor::{Descriptor, open_device};
use wellspring_os::os::now_ns;
use wellspring_os::shared_page::SharedPage;

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
        Self::with_vmclock(Path::new(VMCLOCK_PATH))
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
            return Some(CloneEvent::ClonedByClock);
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

const PATH: &str = "/dev/kmsg";

/// Linux makes no longer record (`CONSOLE_EXT_LOG_MAX`).
const RECORD_BYTES: usize = 8192;

/// The log from now on.
#[derive(Debug)]
pub(super) struct KernelLog(pub(super) Descriptor);

impl KernelLog {
    /// `None` if this process may not read it: that takes CAP_SYSLOG where `kernel.dmesg_restrict` is 1.
    pub(super) fn open() -> Option<Self> {
        let log = open_device(Path::new(PATH))?;
        seek(&log, SeekFrom::End(0)).ok()?;
        Some(Self(log))
    }

    /// The next thing since the last call, without waiting for one.
    pub(super) fn next(&self) -> Option<CloneEvent> {
        let mut record = [0; RECORD_BYTES];
        loop {
            match read(&self.0, &mut record) {
                Ok(length) if is_clone(&record[..length]) => return Some(CloneEvent::Cloned),
                Ok(1..) | Err(Errno::INTR) => {}
                Err(Errno::PIPE) => return Some(CloneEvent::Overflowed),
                Ok(_) | Err(_) => return None,
            }
        }
    }
}

/// Whether a record is the kernel's own, `PRIORITY,NUMBER,TIME,FLAGS;TEXT`, and reports a clone. A process's record has a
/// priority from 8 on: Linux lets no process claim to be the kernel.
fn is_clone(record: &[u8]) -> bool {
    let is_of_kernel = matches!(record, [b'0'..=b'7', b',', ..]);
    let line = record.split(|&byte| byte == b'\n').next();
    let mut parts = line.unwrap_or_default().splitn(2, |&byte| byte == b';');
    let text = parts.nth(1).unwrap_or_default();
    is_of_kernel && text.starts_with(b"random: ") && text.ends_with(b" virtual machine fork")
}

/// The page, for a thread that waits until it changes.
#[derive(Debug)]
pub(super) struct WatchedClock {
    device: Descriptor,
    page: SharedPage,
    offset: usize,
    number: u64,
    can_wait: bool,
}

impl WatchedClock {
    /// Watches from now on; `None` if there is no such device, or this process may not read it.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let device = open_device(path)?;
        let (page, offset) = map_vmclock(&device)?;
        let mut watched = Self {
            number: page.word(offset),
            device,
            page,
            offset,
            can_wait: true,
        };
        watched.has_changed();
        // Older kernels, and hypervisors that send no notice, call the device ready at all times.
        let mut polled = [PollFd::new(&watched.device, PollFlags::IN)];
        watched.can_wait = poll(&mut polled, Some(&Timespec::default())) == Ok(0);
        Some(watched)
    }

    /// A descriptor that becomes readable when the page changes, if the kernel and the hypervisor report it (Linux 7.0).
    pub(super) fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.can_wait.then(|| self.device.as_fd())
    }

    /// Whether the machine was cloned since the last call.
    pub(super) fn has_changed(&mut self) -> bool {
        // The read ends the readiness. First of all: a change after it makes the device ready again.
        if self.can_wait {
            let _ = pread(&self.device, &mut [0; 8], 0);
        }
        let number = self.page.word(self.offset);
        core::mem::replace(&mut self.number, number) != number
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

    #[test]
    fn only_the_kernels_own_record_of_a_clone_counts() {
        assert!(is_clone(
            b"5,412,4220639,-;random: crng reseeded due to virtual machine fork\n"
        ));
        for other in [
            &b""[..],
            b"5,412,4220639,-",
            // A process wrote it: its facility is "user".
            b"13,412,4220639,-;random: crng reseeded due to virtual machine fork\n",
            b"5,412,4220639,-;random: crng init done\n",
            b"5,412,4220639,-;usb: random: crng reseeded due to virtual machine fork\n",
            b"5,412,4220639,-;random: other\n SUBSYSTEM=random: of virtual machine fork\n",
        ] {
            assert!(!is_clone(other));
        }
    }

    #[test]
    fn a_log_without_a_clone_does_not_wait_and_tells_of_none() {
        let Some(log) = KernelLog::open() else {
            return println!("SKIPPED: {PATH} is not for this process");
        };
        // A machine that is cloned at this moment may report it once.
        let told = (0..100).filter_map(|_| log.next()).count();
        assert!(told <= 1, "{told}");
    }
}
