//! The symbols of an ELF file of x86-64, where its parts are in memory, and its instructions.

use std::collections::HashMap;

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const LOADER: u32 = 3;
const SYMBOLS: [u32; 2] = [2, 11];
const EXECUTABLE: u32 = 1;

/// A part of the file that is loaded.
struct Segment {
    flags: u32,
    offset: u64,
    address: u64,
    length: u64,
}

impl Segment {
    /// Whether it is within the file, and its addresses end before the last one.
    fn is_in_bounds(&self, file_length: u64) -> bool {
        let end = self.offset.checked_add(self.length);
        end.is_some_and(|end| end <= file_length)
            && self
                .address
                .checked_add(self.length)
                .is_some_and(|end| end < u64::MAX - 64)
    }
}

/// A file, all in memory.
pub(super) struct Elf {
    bytes: Vec<u8>,
    segments: Vec<Segment>,
    names_loader: bool,
    /// Whether it loads no library.
    pub(super) is_static: bool,
    /// Words of the file that the loader fills in, by their addresses (`R_X86_64_RELATIVE`).
    relocated: HashMap<u64, u64>,
}

impl Elf {
    /// `None` for anything but a 64-bit ELF file of this machine's byte order.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let mut elf = Self {
            bytes,
            segments: Vec::new(),
            names_loader: false,
            is_static: true,
            relocated: HashMap::new(),
        };
        let length = elf.bytes.len() as u64;
        let (start, count) = (elf.number(32, 8)?.min(length), elf.number(56, 2)?);
        let mut dynamic = None;
        for at in (0..count).filter_map(|index| start.checked_add(56 * index)) {
            let segment = Segment {
                flags: elf.number(at + 4, 4)? as u32,
                offset: elf.number(at + 8, 8)?,
                address: elf.number(at + 16, 8)?,
                length: elf.number(at + 32, 8)?,
            };
            match elf.number(at, 4)? as u32 {
                LOAD if segment.is_in_bounds(length) => elf.segments.push(segment),
                DYNAMIC if segment.is_in_bounds(length) => dynamic = Some(segment),
                LOADER => elf.names_loader = true,
                _ => {}
            }
        }
        if let Some(dynamic) = dynamic {
            elf.relocate(&dynamic);
        }
        Some(elf)
    }

    /// A number of the file at an offset.
    fn number(&self, offset: u64, length: usize) -> Option<u64> {
        let start = usize::try_from(offset).ok()?;
        let bytes = self.bytes.get(start..start.checked_add(length)?)?;
        let mut word = [0; 8];
        word[..length].copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }

    fn relocate(&mut self, dynamic: &Segment) {
        const RELA: u64 = 7;
        const RELA_BYTES: u64 = 8;
        const FLAGS: u64 = 0x6FFF_FFFB;
        const POSITION_INDEPENDENT_PROGRAM: u64 = 0x0800_0000;
        self.is_static = false;
        let (mut table, mut length) = (0, 0);
        for at in (dynamic.offset..dynamic.offset.saturating_add(dynamic.length)).step_by(16) {
            match (self.number(at, 8), self.number(at + 8, 8)) {
                (Some(RELA), Some(value)) => table = value,
                (Some(RELA_BYTES), Some(value)) => length = value,
                (Some(FLAGS), Some(value)) => {
                    self.is_static =
                        !self.names_loader && value & POSITION_INDEPENDENT_PROGRAM != 0;
                }
                _ => {}
            }
        }
        let Some(table) = self.offset(table) else {
            return;
        };
        let length = length.min(self.bytes.len() as u64);
        for at in (table..table.saturating_add(length)).step_by(24) {
            let entry = [at, at + 8, at + 16].map(|at| self.number(at, 8));
            if let [Some(address), Some(8), Some(value)] = entry {
                self.relocated.insert(address, value);
            }
        }
    }

    /// The offset in the file of an address.
    fn offset(&self, address: u64) -> Option<u64> {
        let holds = |part: &&Segment| (part.address..part.address + part.length).contains(&address);
        let part = self.segments.iter().find(holds)?;
        Some(address - part.address + part.offset)
    }

    /// The address of an offset in the file.
    pub(super) fn address(&self, offset: u64) -> Option<u64> {
        let holds = |part: &&Segment| (part.offset..part.offset + part.length).contains(&offset);
        let part = self.segments.iter().find(holds)?;
        Some(offset - part.offset + part.address)
    }

    /// The word at an address, as the loader leaves it less the address where the file is loaded.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let word = self.relocated.get(&address).copied();
        word.or_else(|| self.number(self.offset(address)?, 8))
    }

    /// The addresses of words that are equal to a value.
    pub(super) fn words_equal_to(&self, value: u64) -> Vec<u64> {
        let relocated = self.relocated.iter().filter(|(_, word)| **word == value);
        let mut found: Vec<u64> = relocated.map(|(address, _)| *address).collect();
        for part in &self.segments {
            let words = (0..part.length.saturating_sub(7)).step_by(8);
            let is_equal = |at: &u64| self.number(part.offset + at, 8) == Some(value);
            found.extend(words.filter(is_equal).map(|at| part.address + at));
        }
        found
    }

    /// The text at an address, up to its zero.
    pub(super) fn text(&self, address: u64) -> Option<&str> {
        let rest = self.bytes.get(self.offset(address)? as usize..)?;
        core::str::from_utf8(rest.split(|&byte| byte == 0).next()?).ok()
    }

    /// The addresses of a text that begins after a zero and ends with one.
    pub(super) fn addresses_of(&self, text: &str) -> Vec<u64> {
        let wanted = [b"\0", text.as_bytes(), b"\0"].concat();
        let places = self.bytes.windows(wanted.len()).enumerate();
        let found = places.filter(|(_, window)| *window == wanted);
        found
            .filter_map(|(at, _)| self.address(at as u64 + 1))
            .collect()
    }

    /// Names and addresses of all functions that the file defines.
    pub(super) fn functions(&self) -> Vec<(&str, u64)> {
        let mut found = Vec::new();
        let file_length = self.bytes.len() as u64;
        let (start, count) = (self.number(40, 8), self.number(60, 2));
        let (Some(start), Some(count)) = (start.map(|start| start.min(file_length)), count) else {
            return found;
        };
        let section = |index: u64, at: u64, length| self.number(start + 64 * index + at, length);
        for index in 0..count {
            if !section(index, 4, 4).is_some_and(|kind| SYMBOLS.contains(&(kind as u32))) {
                continue;
            }
            let facts = [(24, 8), (32, 8), (40, 4)].map(|(at, length)| section(index, at, length));
            let [Some(table), Some(length), Some(names)] = facts else {
                continue;
            };
            let Some(names) = section(names, 24, 8) else {
                continue;
            };
            let (table, length) = (table.min(file_length), length.min(file_length));
            for at in (table..table + length).step_by(24) {
                found.extend(self.function(at, names));
            }
        }
        found
    }

    fn function(&self, at: u64, names: u64) -> Option<(&str, u64)> {
        const FUNCTION: u64 = 2;
        let (name, kind) = (self.number(at, 4)?, self.number(at + 4, 1)? & 15);
        let (section, address) = (self.number(at + 6, 2)?, self.number(at + 8, 8)?);
        let is_defined = kind == FUNCTION && section != 0 && address != 0;
        let names = usize::try_from(names.checked_add(name)?).ok()?;
        let rest = self.bytes.get(names..)?;
        let name = core::str::from_utf8(rest.split(|&byte| byte == 0).next()?).ok()?;
        is_defined.then_some((name, address))
    }

    /// Offset and address of the executable parts, to the page of 4096 bytes.
    pub(super) fn executable_parts(&self) -> Vec<(u64, u64)> {
        let parts = self
            .segments
            .iter()
            .filter(|part| part.flags & EXECUTABLE != 0);
        parts
            .map(|part| (part.offset & !4095, part.address & !4095))
            .collect()
    }

    /// Whether an address is one of an instruction.
    pub(super) fn is_code(&self, address: u64) -> bool {
        let mut code = self
            .segments
            .iter()
            .filter(|part| part.flags & EXECUTABLE != 0);
        code.any(|part| (part.address..part.address + part.length).contains(&address))
    }

    /// Whether its instructions contain RDRAND or RDSEED: 0F C7 with a register. Data among them may look the same.
    pub(super) fn has_rdrand(&self) -> bool {
        let code = self
            .segments
            .iter()
            .filter(|part| part.flags & EXECUTABLE != 0);
        let mut parts = code.filter_map(|part| {
            let start = part.offset as usize;
            self.bytes
                .get(start..start.checked_add(part.length as usize)?)
        });
        parts.any(|part| {
            let mut triples = part.windows(3);
            triples.any(|three| three[0] == 0x0F && three[1] == 0xC7 && three[2] >= 0xF0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that an audit asks of a file.
    fn look(bytes: Vec<u8>) -> usize {
        let Some(elf) = Elf::parse(bytes) else {
            return 0;
        };
        let functions = elf.functions().len();
        elf.has_rdrand();
        elf.executable_parts();
        for address in elf.addresses_of("main") {
            elf.words_equal_to(address);
        }
        functions
    }

    #[test]
    fn a_damaged_file_neither_ends_the_command_nor_keeps_it_busy() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let start = own[..4096].to_vec();
        assert!(look(own) > 1000);
        for place in 0..start.len() - 8 {
            let mut damaged = start.clone();
            damaged[place..place + 8].copy_from_slice(&[0xFF; 8]);
            look(damaged);
        }
        for length in 0..300 {
            look(start[..length].to_vec());
        }
    }
}
