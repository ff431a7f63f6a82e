//! Searches the memory of a process for values, without holding one of them.

use std::collections::HashMap;
use std::fs::{File, read_to_string};
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;

/// Values are stored XORed with this, so that a search does not find the stored values themselves.
pub const MASK: u128 = 0x5bd1_e995_97f4_a7c1_51ed_270b_9e37_79b9;

const VALUE_BYTES: usize = 16;

/// Memory is read in pieces of this size.
const PIECE_BYTES: usize = 1 << 16;

const PAGE_BYTES: usize = 4096;

/// The part of a process's memory that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All that can be read, but for the pages of the kernel.
    Readable,
    /// The pages that the process can write, shares with no other, and has in memory or swapped out.
    PrivateResident,
}

impl Part {
    /// The addresses of a line of /proc/PID/maps that belongs to it.
    fn range(self, line: &str) -> Option<(usize, usize)> {
        let rights = line.split_whitespace().nth(1)?;
        let belongs = match self {
            Part::Readable => rights.starts_with('r') && !line.contains("[v"),
            Part::PrivateResident => rights == "rw-p" || rights == "rwxp",
        };
        belongs.then(|| addresses(line)).flatten()
    }
}

/// The addresses of a line of /proc/PID/maps.
fn addresses(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?))
}

/// The places in a process, by its number or "self", of the windows of `window_bytes` at every `step`th address that
/// `is_wanted` takes. Of this process's own memory, what the search itself holds is left out.
///
/// # Errors
///
/// If the system does not let this process read that memory.
pub fn find(
    process: &str,
    part: Part,
    (window_bytes, step): (usize, usize),
    is_wanted: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<Vec<usize>> {
    let memory = File::open(format!("/proc/{process}/mem"))?;
    let maps = read_to_string(format!("/proc/{process}/maps"))?;
    let pagemap = File::open(format!("/proc/{process}/pagemap"));
    let pagemap = pagemap.ok().filter(|_| part == Part::PrivateResident);
    // With the beginning of the next piece, for the windows on the border.
    let mut piece = vec![0; PIECE_BYTES + window_bytes];
    let own = piece.as_ptr().addr()..piece.as_ptr().addr() + piece.len();
    let is_own = |place: usize| process == "self" && own.contains(&place);
    let mut found = Vec::new();
    for (start, end) in maps.lines().filter_map(|line| part.range(line)) {
        for first in (start..end).step_by(PIECE_BYTES) {
            let length = piece.len().min(end - first);
            let is_there = pagemap
                .as_ref()
                .is_none_or(|pagemap| is_any_resident(pagemap, first, length));
            if !is_there {
                continue;
            }
            // A mapping may be gone, or refuse to be read, by now.
            let Ok(length) = memory.read_at(&mut piece[..length], first as u64) else {
                continue;
            };
            let windows = piece[..length].windows(window_bytes).step_by(step);
            for (number, window) in windows.enumerate() {
                let place = first + number * step;
                // The next piece has the windows behind the border too.
                if number * step < PIECE_BYTES && !is_own(place) && is_wanted(window) {
                    found.push(place);
                }
            }
        }
    }
    piece.fill(0);
    black_box(&mut piece);
    Ok(found)
}

/// Whether one of these pages is in memory or swapped out.
fn is_any_resident(pagemap: &File, first: usize, bytes: usize) -> bool {
    let mut entries = vec![0; 8 * bytes.div_ceil(PAGE_BYTES)];
    let offset = first / PAGE_BYTES * 8;
    if pagemap.read_exact_at(&mut entries, offset as u64).is_err() {
        return true;
    }
    let (entries, _) = entries.as_chunks();
    entries
        .iter()
        .any(|entry| u64::from_ne_bytes(*entry) >> 62 != 0)
}

/// Values to look for: their masked halves, by the first; and which of 2^20 hashes they have.
pub struct Wanted {
    values: HashMap<u64, u64>,
    hashes: Vec<bool>,
}

fn hash(masked: u64) -> usize {
    masked as usize % (1 << 20)
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            values: HashMap::new(),
            hashes: vec![false; 1 << 20],
        }
    }
}

impl Wanted {
    /// Keeps the 16-byte values of `drawn`, masked, and wipes it.
    pub fn take(&mut self, drawn: &mut [u8]) {
        for value in drawn.chunks_exact_mut(VALUE_BYTES) {
            let masked = u128::from_ne_bytes(value.try_into().unwrap()) ^ MASK;
            self.hashes[hash(masked as u64)] = true;
            self.values.insert(masked as u64, (masked >> 64) as u64);
        }
        drawn.fill(0);
        black_box(drawn);
    }

    /// The addresses in this process at which they are found.
    #[must_use]
    pub fn search(&self) -> Vec<usize> {
        self.search_process("self").unwrap()
    }

    /// The same for another process, by its number.
    ///
    /// # Errors
    ///
    /// If the system does not let this process read that memory.
    pub fn search_process(&self, process: &str) -> io::Result<Vec<usize>> {
        find(process, Part::Readable, (VALUE_BYTES, 1), &mut |value| {
            self.has(value)
        })
    }

    /// How many values are looked for.
    #[must_use]
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Whether this value of 16 bytes is looked for.
    #[must_use]
    pub fn has(&self, value: &[u8]) -> bool {
        let masked = u128::from_ne_bytes(value.try_into().unwrap()) ^ MASK;
        let (low, high) = (masked as u64, (masked >> 64) as u64);
        self.hashes[hash(low)] && self.values.get(&low) == Some(&high)
    }
}

/// The mappings that these addresses are in, for the message of a failure. Empty if there is no address.
#[must_use]
pub fn places(found: &[usize]) -> Vec<String> {
    let maps = read_to_string("/proc/self/maps").unwrap();
    let place = |at: &usize| {
        let holds =
            |line: &&str| addresses(line).is_some_and(|(start, end)| (start..end).contains(at));
        format!("{at:#x} in {:?}", maps.lines().find(holds))
    };
    found.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_at_every_place_also_over_the_border_of_two_pieces_and_not_when_it_is_gone()
    {
        let mut memory = vec![0; 3 * PIECE_BYTES];
        let start = memory.as_ptr().addr();
        for offset in (PIECE_BYTES - 40..PIECE_BYTES + 40).chain([3, 2 * PIECE_BYTES + 11]) {
            let value =
                u128::from(std::process::id()) << 64 | 0xfeed_5eed_0bad_cafe ^ offset as u128;
            let mut wanted = Wanted::default();
            wanted.take(&mut value.to_ne_bytes());
            memory[offset..offset + VALUE_BYTES].copy_from_slice(&value.to_ne_bytes());
            let search = |part| {
                find("self", part, (VALUE_BYTES, 1), &mut |window| {
                    wanted.has(window)
                })
                .unwrap()
            };
            assert!(
                search(Part::Readable).contains(&(start + offset)),
                "{offset}"
            );
            assert!(
                search(Part::PrivateResident).contains(&(start + offset)),
                "{offset}"
            );
            memory[offset..offset + VALUE_BYTES].fill(0);
            assert!(!wanted.search().contains(&(start + offset)), "{offset}");
        }
    }

    #[test]
    fn what_lies_behind_the_memory_of_the_search_itself_is_found() {
        // The search takes memory that is free again; some of it goes to the text of the mappings.
        let value = u128::from(std::process::id()) << 64 | 0xfeed_5eed_0bad_beef;
        let mut values = Vec::new();
        let free: Vec<Vec<u8>> = (0..8)
            .map(|_| {
                let free = vec![1; PIECE_BYTES + VALUE_BYTES];
                values.extend((0..PIECE_BYTES / 32).map(|_| Box::new(value)));
                free
            })
            .collect();
        drop(free);
        let mut wanted = Wanted::default();
        wanted.take(&mut value.to_ne_bytes());
        let found = wanted.search();
        let mut places = values.iter().map(|one| std::ptr::from_ref(&**one).addr());
        assert!(places.all(|place| found.contains(&place)));
    }
}
