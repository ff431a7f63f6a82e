//! The page of the hypervisor's clock, which changes before a clone of the machine runs.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use wellspring_os::os::open_device;
use wellspring_os::shared_page::SharedPage;

/// The path of the hypervisor's clock in Linux 6.13 and later.
pub const DEFAULT_PATH: &str = "/dev/vmclock0";

// `VMCLOCK_MAGIC`, `VMCLOCK_FLAG_VM_GEN_COUNTER_PRESENT` and the offsets: include/uapi/linux/vmclock-abi.h. All numbers
// are little endian.
const MAGIC: u32 = 0x4b4c_4356;
const COUNTS_CLONES: u64 = 1 << 8;
const DISRUPTION_OFFSET: usize = 16;
const FLAGS_OFFSET: usize = 24;
const CLONES_OFFSET: usize = 104;

/// Opens the device, if there is one and this process may read it.
pub(super) fn open(path: &Path) -> Option<OwnedFd> {
    open_device(path)
}

/// Maps the page. Also returns the offset of the word that changes when the machine is cloned; on older hypervisors
/// that word also changes when the machine is moved.
pub(super) fn map(device: impl AsFd) -> Option<(SharedPage, usize)> {
    let page = SharedPage::map(device).ok()?;
    let head = u64::from_le(page.word(0));
    let (magic, size) = (head as u32, head >> 32);
    if magic != MAGIC || size <= FLAGS_OFFSET as u64 {
        return None;
    }
    let counts_clones = u64::from_le(page.word(FLAGS_OFFSET)) & COUNTS_CLONES != 0;
    let offset = if counts_clones && size > CLONES_OFFSET as u64 {
        CLONES_OFFSET
    } else {
        DISRUPTION_OFFSET
    };
    Some((page, offset))
}
