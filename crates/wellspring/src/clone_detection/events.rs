//! Notices that the machine was cloned, for a thread that waits for them.

use super::suspend::SuspendDetector;
use super::vmclock::{DEFAULT_PATH, WatchedClock};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use wellspring_os::kernel_messages::{KernelMessages, Received};

/// A sign that this machine may be a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloneEvent {
    /// The kernel (vmgenid) or the hypervisor (vmclock) said that the machine was cloned or restored.
    Cloned,
    /// The kernel sent more messages than the socket holds: some are lost, and a notice may be among them.
    Overflowed,
    /// The machine was suspended.
    Slept,
}

/// Listens for the kernel's notices of clones, and looks at the hypervisor's page and at the clocks.
#[derive(Debug)]
pub struct CloneEvents {
    messages: Option<KernelMessages>,
    vmclock: Option<WatchedClock>,
    suspend: SuspendDetector,
}

impl CloneEvents {
    /// Listens from now on. Where the kernel's messages are out of reach (in another user namespace), the clocks are
    /// left.
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
            messages: KernelMessages::listen().ok(),
            vmclock: WatchedClock::open(device),
            suspend,
        }
    }

    /// Descriptors that become readable when [`next_event`](Self::next_event) should be called. Call it once a second all
    /// the same: not every notice makes one readable.
    pub fn wakes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let messages = self.messages.as_ref().map(AsFd::as_fd);
        let vmclock = self.vmclock.as_ref().and_then(WatchedClock::wakes);
        messages.into_iter().chain(vmclock)
    }

    /// The next event, without waiting for one. Call it until it returns `None`.
    pub fn next_event(&mut self) -> Option<CloneEvent> {
        while let Some(messages) = &self.messages {
            match messages.receive(&mut [0; 4096]) {
                Received::FromKernel(message) if tells_of_a_clone(message) => {
                    return Some(CloneEvent::Cloned);
                }
                Received::FromKernel(_) | Received::FromProcess => {}
                Received::Overflowed => return Some(CloneEvent::Overflowed),
                Received::Nothing => break,
                Received::Failed(_) => self.messages = None,
            }
        }
        if self.vmclock.as_mut().is_some_and(WatchedClock::has_changed) {
            return Some(CloneEvent::Cloned);
        }
        self.suspend.was_suspended().then_some(CloneEvent::Slept)
    }
}

impl Default for CloneEvents {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a message of the kernel tells of a new generation of the machine: any change of the generation counter,
/// which ACPI calls VMGENCTR, or any event that names one (`NEW_VMGENID=1`).
fn tells_of_a_clone(message: &[u8]) -> bool {
    let mut fields = message.split(|&byte| byte == 0);
    let head = fields.next().unwrap_or_default();
    let names = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
    head.starts_with(b"change@") && names(b"/VMGENCTR")
        || fields.any(|field| field == b"NEW_VMGENID=1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_of_the_generation_counter_is_a_clone() {
        let kernel = b"change@/devices/platform/VMGENCTR:00\0ACTION=change\0NEW_VMGENID=1\0";
        assert!(tells_of_a_clone(kernel));
        assert!(tells_of_a_clone(
            b"change@/devices/LNXSYSTM:00/VMGENCTR:00\0SEQNUM=1\0"
        ));
        assert!(tells_of_a_clone(
            b"change@/devices/vmgenid\0NEW_VMGENID=1\0"
        ));
        for other in [
            &b""[..],
            b"add@/devices/platform/VMGENCTR:00\0",
            b"change@/devices/platform/rtc\0NAME=/VMGENCTR\0",
            b"change@/devices/vmgenid\0OLD_NEW_VMGENID=1\0",
        ] {
            assert!(!tells_of_a_clone(other));
        }
    }
}
