//! The kernel's log, in which the kernel says that it reseeded its generator because the machine was cloned (vmgenid).
//!
//! No other sign of vmgenid reaches user space: Linux 6.12 and 7.3 of Debian send no device event (measured in the rig).

use super::CloneEvent;
use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, read};
use std::path::Path;
use wellspring_os::descriptor::{Descriptor, open_device};

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

/// Whether a record is the kernel's own, `PRIORITY,NUMBER,TIME,FLAGS;TEXT`, and tells of a clone. What a process writes
/// to the log has a priority from 8 on: Linux lets none claim to be the kernel.
fn is_clone(record: &[u8]) -> bool {
    let is_of_kernel = matches!(record, [b'0'..=b'7', b',', ..]);
    let line = record.split(|&byte| byte == b'\n').next();
    let mut parts = line.unwrap_or_default().splitn(2, |&byte| byte == b';');
    let text = parts.nth(1).unwrap_or_default();
    is_of_kernel && text.starts_with(b"random: ") && text.ends_with(b" virtual machine fork")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernels_own_record_of_a_clone_counts() {
        assert!(is_clone(
            b"5,412,4220639,-;random: crng reseeded due to virtual machine fork\n"
        ));
        for other in [
            &b""[..],
            b"5,412,4220639,-",
            // A process wrote it: the facility is that of users.
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
        // A machine that is cloned in this moment may tell of it once.
        let told = (0..100).filter_map(|_| log.next()).count();
        assert!(told <= 1, "{told}");
    }
}
