//! Pointers and lengths of reads and writes.

use super::comparison::{Comparison, PAGE_BYTES, cliff};
use crate::open::DEVICE;
use crate::probes;
use crate::test::{Outcome, Stop, are_distinct, broken};
use rustix::fs::OFlags;

/// Unmapped addresses, kernel addresses, read-only memory, and memory that ends in the middle.
pub(super) fn bad_pointers() -> Outcome {
    let mut both = Comparison::new(OFlags::RDWR)?;
    let both_ways = libc::PROT_READ | libc::PROT_WRITE;
    let nowhere = cliff(0, 16 * PAGE_BYTES, libc::PROT_NONE)?;
    let constant = cliff(4 * PAGE_BYTES, PAGE_BYTES, libc::PROT_READ)?;
    for length in [0, 1, 16, 64, 255, 256, 257, 4095, 4096, 4097, 65536] {
        for (name, address) in [
            ("NULL", 0),
            ("page 0", 1),
            ("nowhere", nowhere.address()),
            ("constant", constant.address()),
            ("the kernel's", 0xffff_8880_0000_0000_u64 as usize),
            ("the end", usize::MAX - 4095),
            ("no address", 0x8000_0000_0000_0000_u64 as usize),
        ] {
            both.call(&format!("read of {length} to {name}"), |file| {
                probes::read(file, address, length)
            })?;
            both.call(&format!("write of {length} from {name}"), |file| {
                probes::write(file, address, length)
            })?;
        }
    }
    let edge = cliff(4 * PAGE_BYTES, 16 * PAGE_BYTES, both_ways)?;
    let end = edge.address() + 4 * PAGE_BYTES;
    for before in [1, 15, 63, 64, 100, 256, 300, 4095, 4096, 4097, 8192, 10_000] {
        for beyond in [0, 1, 100, 5000, 60_000] {
            let (address, length) = (end - before, before + beyond);
            // A call whose memory is all there must use all of it.
            let part = if beyond == 0 { 0 } else { before };
            let name = format!("of {length}, {beyond} beyond the edge");
            both.call_up_to(part, &format!("read {name}"), |file| {
                probes::read(file, address, length)
            })?;
            both.call_up_to(part, &format!("write {name}"), |file| {
                probes::write(file, address, length)
            })?;
        }
    }
    Ok(both.figures())
}

/// No bytes, 4 GiB with one MiB that can be written, and numbers that are too large for a length.
pub(super) fn lengths() -> Outcome {
    const MIB: usize = 1 << 20;
    let mut both = Comparison::new(OFlags::RDWR)?;
    let large = cliff(MIB, (4 << 30) - MIB, libc::PROT_READ | libc::PROT_WRITE)?;
    let at = large.address();
    for length in [
        0,
        1,
        4096,
        MIB,
        4 << 30,
        (4 << 30) + 1,
        isize::MAX as usize,
        usize::MAX,
    ] {
        let got = both.call(&format!("read of {length}"), |file| {
            probes::read(file, at, length)
        })?;
        if length == 4 << 30 && got.0 != Ok(MIB as i64) {
            return Err(Stop::Failed(format!("a read of 4 GiB returns {got}")));
        }
        both.call(&format!("write of {length}"), |file| {
            probes::write(file, at, length)
        })?;
    }
    let mut bytes = vec![0; 4 * MIB];
    let read = rustix::io::read(&both.device, &mut bytes).map_err(|error| broken(DEVICE, error))?;
    if read != bytes.len() {
        return Err(Stop::Failed(format!("a read of 4 MiB returns {read}")));
    }
    are_distinct(&bytes)?;
    Ok(both.figures())
}
