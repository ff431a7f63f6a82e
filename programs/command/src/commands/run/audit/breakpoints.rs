//! The functions of one address space that stop a thread when it enters them.

use super::elf::Elf;
use super::generators::{Generator, Work, of_symbol};
use super::{method_tables, ptrace};
use libc::pid_t;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// INT3.
const TRAP: u8 = 0xCC;

/// After this many entries a function does not stop the process any more, until it forks. A program that draws without
/// end would take hours.
const MOST_HITS: u32 = 2000;

/// A file of which a process executes a part.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) path: String,
    functions: Vec<(u64, &'static Generator, Work)>,
    /// Whether it has the functions of its libraries in it, and no names of them.
    pub(super) hides_functions: bool,
    pub(super) has_rdrand: bool,
    /// Offset and address of the executable parts, to the page.
    parts: Vec<(u64, u64)>,
}

impl Code {
    fn read(path: &str, place: &str) -> Option<Self> {
        let elf = Elf::parse(fs::read(place).ok()?)?;
        let all = elf.functions();
        // In glibc rand calls random, which would count twice.
        let is_glibc = all
            .iter()
            .any(|(name, _)| *name == "__random" || *name == "gnu_get_libc_version");
        let named = all
            .iter()
            .filter(|(name, _)| !(is_glibc && *name == "rand"));
        let mut functions = method_tables::functions(&elf);
        functions.extend(named.filter_map(|(name, address)| {
            let (generator, work) = of_symbol(name)?;
            Some((*address, generator, work))
        }));
        Some(Self {
            path: path.to_owned(),
            functions,
            hides_functions: all.is_empty() && elf.is_static,
            has_rdrand: elf.has_rdrand(),
            parts: elf.executable_parts(),
        })
    }
}

/// All files that were read so far.
#[derive(Debug, Default)]
pub(super) struct Codes(HashMap<String, Option<Rc<Code>>>);

impl Codes {
    fn get(&mut self, process: pid_t, path: &str) -> Option<Rc<Code>> {
        let place = format!("/proc/{process}/root{path}");
        let read = || Code::read(path, &place).map(Rc::new);
        self.0.entry(path.to_owned()).or_insert_with(read).clone()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Rc<Code>> {
        self.0.values().flatten()
    }
}

/// A function that stops the process.
#[derive(Clone, Debug)]
pub(super) struct Breakpoint {
    pub(super) generator: &'static Generator,
    pub(super) work: Work,
    pub(super) code: Rc<Code>,
    original: u8,
    hits: u32,
    /// The threads that execute the original instruction. The trap waits until none does.
    steps: u32,
}

/// The functions of an address space.
#[derive(Debug)]
pub(super) struct Breakpoints {
    /// `None` where a program may not be read by its user, or was killed.
    memory: Option<File>,
    places: HashMap<u64, Breakpoint>,
    mapped: HashSet<(String, u64)>,
}

impl Breakpoints {
    /// Those of a process that has executed a program.
    pub(super) fn new(process: pid_t, codes: &mut Codes) -> Self {
        let mut new = Self {
            memory: ptrace::memory(process).ok(),
            places: HashMap::new(),
            mapped: HashSet::new(),
        };
        new.look(process, codes);
        new
    }

    /// Those of a child, which has a copy of the memory. Functions that stopped the parent too often stop both again.
    pub(super) fn copy(&mut self, child: pid_t) -> Self {
        self.insert_all();
        let mut copy = Self {
            memory: ptrace::memory(child).ok(),
            places: self.places.clone(),
            mapped: self.mapped.clone(),
        };
        // The child has one thread, which is in a system call.
        copy.places.values_mut().for_each(|place| place.steps = 0);
        copy.insert_all();
        copy
    }

    pub(super) fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Reads memory at an address. Returns whether it was there.
    pub(super) fn read(&self, bytes: &mut [u8], address: u64) -> bool {
        let read = |memory: &File| memory.read_exact_at(bytes, address).is_ok();
        self.memory.as_ref().is_some_and(read)
    }

    fn write(&self, byte: u8, address: u64) -> bool {
        let write = |memory: &File| memory.write_at(&[byte], address).is_ok();
        self.memory.as_ref().is_some_and(write)
    }

    fn insert_all(&mut self) {
        for place in self.places.values_mut() {
            place.hits = 0;
        }
        for (address, place) in &self.places {
            if place.steps == 0 {
                self.write(TRAP, *address);
            }
        }
    }

    /// Looks for files that are mapped since the last look.
    pub(super) fn look(&mut self, process: pid_t, codes: &mut Codes) {
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        for line in maps.lines() {
            // START-END PERMISSIONS OFFSET DEVICE INODE PATH
            let mut words = line.splitn(6, ' ');
            let (range, permissions) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            let number = |text: &str| u64::from_str_radix(text, 16).ok();
            let start = range.split('-').next().and_then(number);
            let offset = words.next().and_then(number);
            let path = words.nth(2).unwrap_or("").trim_start();
            let (Some(start), Some(offset)) = (start, offset) else {
                continue;
            };
            let is_code = permissions.contains('x') && path.starts_with('/');
            if is_code
                && self.mapped.insert((path.to_owned(), start))
                && let Some(code) = codes.get(process, path)
            {
                self.insert(&code, start, offset);
            }
        }
    }

    fn insert(&mut self, code: &Rc<Code>, start: u64, offset: u64) {
        let Some((_, address)) = code.parts.iter().find(|(part, _)| *part == offset) else {
            return;
        };
        let base = start.wrapping_sub(*address);
        for (function, generator, work) in &code.functions {
            let place = base.wrapping_add(*function);
            let mut original = [0];
            // Two names of one function are one place.
            if self.places.contains_key(&place)
                || !self.read(&mut original, place)
                || !self.write(TRAP, place)
            {
                continue;
            }
            let breakpoint = Breakpoint {
                generator,
                work: *work,
                code: code.clone(),
                original: original[0],
                hits: 0,
                steps: 0,
            };
            self.places.insert(place, breakpoint);
        }
    }

    /// The function at an address, which a thread has entered, with its first instruction as it was.
    pub(super) fn hit(&mut self, address: u64) -> Option<&Breakpoint> {
        let place = self.places.get_mut(&address)?;
        place.hits += 1;
        place.steps += 1;
        let original = place.original;
        self.write(original, address);
        self.places.get(&address)
    }

    /// A thread has executed the original instruction: stops the next one that enters the function.
    pub(super) fn stepped(&mut self, address: u64) {
        if let Some(place) = self.places.get_mut(&address) {
            place.steps = place.steps.saturating_sub(1);
            if place.steps == 0 && place.hits < MOST_HITS {
                self.write(TRAP, address);
            }
        }
    }
}
