//! Searches a process for values, without holding one of them.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Values are stored XORed with this, so that a search does not find the stored values themselves.
pub(crate) const MASK: u128 = 0x5bd1_e995_97f4_a7c1_51ed_270b_9e37_79b9;

const VALUE_BYTES: usize = 16;

/// Values to look for: their masked halves, by the first; and which of 2^20 hashes they have.
pub(crate) struct Wanted {
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
    pub(crate) fn take(&mut self, drawn: &mut [u8]) {
        for value in drawn.chunks_exact_mut(VALUE_BYTES) {
            let masked = u128::from_ne_bytes(value.try_into().unwrap()) ^ MASK;
            self.hashes[hash(masked as u64)] = true;
            self.values.insert(masked as u64, (masked >> 64) as u64);
        }
        drawn.fill(0);
        std::hint::black_box(drawn);
    }

    /// The addresses in this process at which they are found.
    pub(crate) fn search(&self) -> Vec<usize> {
        self.search_process("self").unwrap()
    }

    /// The same for another process, by its number, as far as the system lets this one read its memory.
    pub(crate) fn search_process(&self, process: &str) -> io::Result<Vec<usize>> {
        let memory = File::open(format!("/proc/{process}/mem"))?;
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps"))?;
        let is_self = process == "self";
        let mut found = Vec::new();
        let mut window = vec![0; 1 << 16];
        let own = window.as_ptr() as usize;
        for (start, end) in maps.lines().filter_map(readable) {
            let mut offset = start;
            while offset + VALUE_BYTES <= end {
                let length = window.len().min(end - offset);
                // A mapping may be gone, or refuse to be read, by now.
                if memory
                    .read_exact_at(&mut window[..length], offset as u64)
                    .is_err()
                {
                    break;
                }
                let here = window[..length].windows(VALUE_BYTES).enumerate();
                let here = here
                    .filter(|(_, value)| self.has(value))
                    .map(|(at, _)| offset + at);
                // Not what was read a moment ago into the window itself.
                found.extend(here.filter(|at| !(is_self && (own..own + (1 << 16)).contains(at))));
                offset += length - (VALUE_BYTES - 1);
            }
        }
        window.fill(0);
        std::hint::black_box(&mut window);
        Ok(found)
    }

    /// How many values are looked for.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether this value of 16 bytes is looked for.
    pub(crate) fn has(&self, value: &[u8]) -> bool {
        let masked = u128::from_ne_bytes(value.try_into().unwrap()) ^ MASK;
        let (low, high) = (masked as u64, (masked >> 64) as u64);
        self.hashes[hash(low)] && self.values.get(&low) == Some(&high)
    }
}

fn readable(line: &str) -> Option<(usize, usize)> {
    let is_read = line.split_whitespace().nth(1)?.starts_with('r');
    let is_ordinary = !line.contains("[v");
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    (is_read && is_ordinary).then_some((number(start)?, number(end)?))
}

/// The mappings that these addresses are in, for the message of a failure. Empty if there is no address.
pub(crate) fn places(addresses: &[usize]) -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let place = |at: &usize| {
        let holds = |line: &&str| {
            let bounds = line
                .split_once(' ')
                .and_then(|(bounds, _)| bounds.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            bounds.is_some_and(|(start, end)| number(start) <= Some(*at) && Some(*at) < number(end))
        };
        format!("{at:#x} in {:?}", maps.lines().find(holds))
    };
    addresses.iter().map(place).collect()
}
