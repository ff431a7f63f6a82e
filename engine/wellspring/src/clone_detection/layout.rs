//! The layout that the generation page and the hypervisor's page share: Linux's vmclock, version 1.
//!
//! Magic number, size, flags and offsets come from `include/uapi/linux/vmclock-abi.h`. All fields are little endian.

use wellspring_os::shared_page::SharedPage;

/// `VCLK`.
pub(super) const MAGIC: [u8; 4] = *b"VCLK";
const VERSION: u16 = 1;
/// The page tells no time.
const COUNTER_INVALID: u8 = 0xff;
/// `VMCLOCK_FLAG_VM_GEN_COUNTER_PRESENT`.
const COUNTS_CLONES: u64 = 1 << 8;
const DISRUPTION_OFFSET: usize = 16;
const FLAGS_OFFSET: usize = 24;
/// `vm_generation_counter`: the word that a clone changes.
pub(super) const CLONES_OFFSET: usize = 104;
pub(super) const PAGE_BYTES: usize = 4096;

/// A generation page: the counter alone is in use, and begins with `number`.
pub(super) fn new_page(number: [u8; 8]) -> [u8; PAGE_BYTES] {
    let mut page = [0; PAGE_BYTES];
    page[..4].copy_from_slice(&MAGIC);
    page[4..8].copy_from_slice(&(PAGE_BYTES as u32).to_le_bytes());
    page[8..10].copy_from_slice(&VERSION.to_le_bytes());
    page[10] = COUNTER_INVALID;
    page[FLAGS_OFFSET..][..8].copy_from_slice(&COUNTS_CLONES.to_le_bytes());
    page[CLONES_OFFSET..][..8].copy_from_slice(&number);
    page
}

/// The offset of the word that changes when the machine is cloned, or `None` if this is no such page.
pub(super) fn counter(page: &SharedPage) -> Option<usize> {
    let size = size(page)?;
    let counts_clones = u64::from_le(page.word(FLAGS_OFFSET)) & COUNTS_CLONES != 0;
    (counts_clones && size >= CLONES_OFFSET + 8).then_some(CLONES_OFFSET)
}

/// The offset of the word that changes when the machine is cloned or moved, which is all that older hypervisors count.
pub(super) fn disruption_marker(page: &SharedPage) -> Option<usize> {
    size(page).map(|_| DISRUPTION_OFFSET)
}

/// How many bytes count, as the page says itself.
fn size(page: &SharedPage) -> Option<usize> {
    let head = page.word(0).to_ne_bytes();
    let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    let version = u64::from_le(page.word(8)) as u16;
    (head[..4] == MAGIC && version == VERSION && size >= FLAGS_OFFSET + 8).then_some(size)
}
