//! How a process learns that it, or its machine, was copied, restored or asleep.
//!
//! ```text
//! vmgenid     the kernel says that the machine was cloned (Linux 6.10), a moment after it runs again
//! vmclock     a page that the hypervisor changes before the machine runs again: see the engine's builder
//! sleep       the clock that counts sleep has gone on, the other has not
//! ```

use core::mem::MaybeUninit;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recvfrom, socket_with};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use wellspring_sys::watched::SharedPage;

/// The kernel's own messages; those of udev are another group.
const KERNEL_EVENTS: u32 = 1;

/// `VMCLOCK_MAGIC`, `VMCLOCK_FLAG_VM_GEN_COUNTER_PRESENT` and where things are: include/uapi/linux/vmclock-abi.h.
const VMCLOCK_MAGIC: u32 = 0x4b4c_4356;
const VMCLOCK_COUNTS_CLONES: u64 = 1 << 8;
const VMCLOCK_DISRUPTION: usize = 16;
const VMCLOCK_FLAGS: usize = 24;
const VMCLOCK_CLONES: usize = 104;

/// Where Linux puts the page of the hypervisor's clock.
pub(crate) const VMCLOCK_PATH: &str = "/dev/vmclock0";

/// How far the clocks must part before it counts as sleep.
const SLEEP_MS: u64 = 20;

/// Why it is time to part from copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloneEvent {
    /// The kernel said that the machine was cloned or restored.
    Cloned,
    /// The kernel said so much at once that some of it was lost.
    Overflowed,
    /// The machine was asleep.
    Slept,
}

/// Listens for the kernel's notices of clones, and looks at the clocks.
#[derive(Debug)]
pub struct CloneEvents {
    events: Option<OwnedFd>,
    sleep: Sleep,
}

impl CloneEvents {
    /// From now on. Where the kernel's messages cannot be had (another user namespace), there are the clocks.
    #[must_use]
    pub fn new() -> Self {
        Self {
            events: listen().ok(),
            sleep: Sleep::default(),
        }
    }

    /// A descriptor with something to read when [`next_event`](Self::next_event) should be asked.
    #[must_use]
    pub fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.events.as_ref().map(AsFd::as_fd)
    }

    /// The next notice, without waiting for one. To be asked until there is none.
    pub fn next_event(&mut self) -> Option<CloneEvent> {
        while let Some(events) = &self.events {
            let mut message = [MaybeUninit::uninit(); 4096];
            match recvfrom(events, &mut message[..], RecvFlags::DONTWAIT) {
                Ok(((message, _), _, from)) => {
                    let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
                    // Root can send what looks like the kernel's, but not from number 0.
                    if from.is_some_and(|from| from.pid() == 0) && tells_of_a_clone(message) {
                        return Some(CloneEvent::Cloned);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => return Some(CloneEvent::Overflowed),
                Err(Errno::AGAIN) => break,
                Err(_) => self.events = None,
            }
        }
        self.sleep.noticed(asleep_ms()).then_some(CloneEvent::Slept)
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

/// CloneEvents that the machine was asleep.
#[derive(Debug, Default)]
pub(crate) struct Sleep {
    last_ms: Option<u64>,
}

impl Sleep {
    /// Whether the machine has slept since the last call, by the time in milliseconds that it has slept in all.
    pub(crate) fn noticed(&mut self, asleep_ms: u64) -> bool {
        let last_ms = self.last_ms.replace(asleep_ms).unwrap_or(asleep_ms);
        asleep_ms.abs_diff(last_ms) >= SLEEP_MS
    }
}

/// How long the machine has been asleep since boot, in milliseconds: what CLOCK_BOOTTIME counts and CLOCK_MONOTONIC
/// does not. No system call.
pub(crate) fn asleep_ms() -> u64 {
    let now_us = |clock| {
        let now = clock_gettime(clock);
        now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
    };
    // Whoever is interrupted between two clocks sees them part: again, until it was quick.
    loop {
        let before = now_us(ClockId::Boottime);
        let awake = now_us(ClockId::Monotonic);
        if now_us(ClockId::Boottime) - before < 1000 * SLEEP_MS / 4 {
            return before.saturating_sub(awake) / 1000;
        }
    }
}

/// Maps the page of the hypervisor's clock; with the offset of the word that changes when the machine is cloned, or
/// at least then: on older hypervisors also when it is moved.
pub(crate) fn map_vmclock(path: &Path) -> Option<(SharedPage, usize)> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).ok()?;
    let page = SharedPage::map(&file).ok()?;
    let (magic, size) = (page.word(0) as u32, page.word(0) >> 32);
    if magic != VMCLOCK_MAGIC.to_le() || size <= VMCLOCK_FLAGS as u64 {
        return None;
    }
    let counts_clones = u64::from_le(page.word(VMCLOCK_FLAGS)) & VMCLOCK_COUNTS_CLONES != 0;
    let word = match counts_clones && size > VMCLOCK_CLONES as u64 {
        true => VMCLOCK_CLONES,
        false => VMCLOCK_DISRUPTION,
    };
    Some((page, word))
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

    #[test]
    fn sleep_is_noticed_once_and_only_when_it_was_long_enough() {
        let mut sleep = Sleep::default();
        let noticed = [5000, 5000, 5001, 5002, 9000, 9000, 9019].map(|ms| sleep.noticed(ms));
        assert_eq!(noticed, [false, false, false, false, true, false, false]);
    }

    #[test]
    fn a_machine_that_is_awake_has_not_slept_meanwhile() {
        let mut sleep = Sleep::default();
        assert!((0..100_000).all(|_| !sleep.noticed(asleep_ms())));
    }
}
