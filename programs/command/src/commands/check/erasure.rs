//! Bytes that a read returned are nowhere else in memory.

use super::outcome::{Outcome, Stop, broken, failed, skipped};
use std::fs::{File, read_to_string};
use std::hint::black_box;
use std::os::unix::fs::FileExt;

/// The length of the secret that is drawn and then searched for.
const SECRET_BYTES: usize = 32;

/// Memory is read in pieces, which overlap so that a secret across two pieces is found.
const PIECE_BYTES: usize = 1 << 16;

/// Draws a secret, overwrites it, and searches all memory of the process.
pub(super) fn output_is_not_kept() -> Outcome {
    let Ok(memory) = File::open("/proc/self/mem") else {
        return skipped("/proc/self/mem cannot be read");
    };
    let mut drawn = Box::new([0; SECRET_BYTES]);
    let mut piece = vec![0; PIECE_BYTES];
    wellspring::fill(drawn.as_mut_slice());
    // Keep the secret inverted: the search must not find its own copy.
    let inverted: [u8; SECRET_BYTES] = core::array::from_fn(|index| !black_box(drawn[index]));
    if !is_found(&inverted, &memory, &mut piece)? {
        return failed("the search does not find what is there");
    }
    forget(drawn.as_mut_slice());
    forget(&mut piece);
    if is_found(&inverted, &memory, &mut piece)? {
        return failed(
            "32 bytes were found in memory after a read had returned them and the reader had erased them",
        );
    }
    Ok(())
}

/// Overwrites; `black_box` keeps the compiler from leaving it out.
fn forget(bytes: &mut [u8]) {
    bytes.fill(0);
    black_box(bytes);
}

/// Whether the secret, which is the inversion of `inverted`, is anywhere in writable memory except in `piece`.
fn is_found(inverted: &[u8], memory: &File, piece: &mut [u8]) -> Result<bool, Stop> {
    let maps =
        read_to_string("/proc/self/maps").map_err(|error| broken("/proc/self/maps", error))?;
    let own = piece.as_ptr_range();
    let own = own.start.addr() as u64..own.end.addr() as u64;
    let writable = maps.lines().filter_map(writable_range);
    for (start, end) in writable {
        let mut address = start;
        while address < end {
            let length = piece.len().min((end - address) as usize);
            // Pages that cannot be read hold nothing: guard pages, or pages of the kernel.
            let Ok(length) = memory.read_at(&mut piece[..length], address) else {
                break;
            };
            let found = find(inverted, &piece[..length], address, &own);
            forget(&mut piece[..length]);
            if found {
                return Ok(true);
            }
            if length <= SECRET_BYTES {
                break;
            }
            address += (length - SECRET_BYTES) as u64;
        }
    }
    Ok(false)
}

/// Whether the secret is in a piece of memory that was read from `address`.
fn find(inverted: &[u8], piece: &[u8], address: u64, own: &std::ops::Range<u64>) -> bool {
    let is_here = |window: &[u8]| {
        window
            .iter()
            .zip(inverted)
            .all(|(byte, inverted)| *byte == !black_box(*inverted))
    };
    let windows = (address..).zip(piece.windows(inverted.len()));
    windows
        .filter(|(address, _)| !own.contains(address))
        .any(|(_, window)| is_here(window))
}

/// The range of a line of /proc/self/maps, if the process may write there.
fn writable_range(line: &str) -> Option<(u64, u64)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let is_writable = rest.starts_with("rw");
    let parse = |text| u64::from_str_radix(text, 16).ok();
    is_writable.then_some((parse(start)?, parse(end)?))
}
