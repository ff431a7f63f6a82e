//! The kernel's notice that the machine was cloned.

use super::suspend::SuspendDetector;
use core::mem::MaybeUninit;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recvfrom, socket_with};

/// The kernel's own messages; those of udev are another group.
const KERNEL_EVENTS: u32 = 1;

/// A sign that this machine may be a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloneEvent {
    /// The kernel said that the machine was cloned or restored.
    Cloned,
    /// The kernel sent more messages than the socket holds: some are lost, and a notice may be among them.
    Overflowed,
    /// The machine was suspended.
    Slept,
}

/// Listens for the kernel's notices of clones, and looks at the clocks.
#[derive(Debug)]
pub struct CloneEvents {
    messages: Option<OwnedFd>,
    suspend: SuspendDetector,
}

impl CloneEvents {
    /// Listens from now on. Where the kernel's messages are out of reach (in another user namespace), the clocks are
    /// left.
    #[must_use]
    pub fn new() -> Self {
        let suspend = SuspendDetector::new();
        suspend.was_suspended();
        Self {
            messages: listen().ok(),
            suspend,
        }
    }

    /// A descriptor that becomes readable when [`next_event`](Self::next_event) should be called.
    #[must_use]
    pub fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.messages.as_ref().map(AsFd::as_fd)
    }

    /// The next event, without waiting for one. Call it until it returns `None`.
    pub fn next_event(&mut self) -> Option<CloneEvent> {
        while let Some(messages) = &self.messages {
            let mut message = [MaybeUninit::uninit(); 4096];
            match recvfrom(messages, &mut message[..], RecvFlags::DONTWAIT) {
                Ok(((message, _), _, from)) => {
                    let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
                    // Root can send what looks like the kernel's message, but not from number 0.
                    if from.is_some_and(|from| from.pid() == 0) && tells_of_a_clone(message) {
                        return Some(CloneEvent::Cloned);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => return Some(CloneEvent::Overflowed),
                Err(Errno::AGAIN) => break,
                Err(_) => self.messages = None,
            }
        }
        self.suspend.was_suspended().then_some(CloneEvent::Slept)
    }
}

impl Default for CloneEvents {
    fn default() -> Self {
        Self::new()
    }
}

fn listen() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let kind = SocketType::DGRAM;
    let socket = socket_with(AddressFamily::NETLINK, kind, flags, Some(KOBJECT_UEVENT))?;
    bind(&socket, &SocketAddrNetlink::new(0, KERNEL_EVENTS))?;
    Ok(socket)
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
