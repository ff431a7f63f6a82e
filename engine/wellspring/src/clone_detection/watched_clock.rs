//! The page of the hypervisor's clock, for a thread that waits until it changes.

use super::vmclock::map;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::pread;
use std::path::Path;
use wellspring_os::descriptor::{AsFd, BorrowedFd, Descriptor, open_device};
use wellspring_os::shared_page::SharedPage;

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
        let (page, offset) = map(&device)?;
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

    /// A descriptor that becomes readable when the page changes, where the kernel and the hypervisor tell (Linux 7.0).
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
