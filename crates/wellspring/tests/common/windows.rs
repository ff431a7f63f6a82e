//! Tries every 32 bytes of this process's memory as a key or a seed: can a past output be computed from them?

use std::fs::File;
use std::os::unix::fs::FileExt;
use wellspring::Engine;
use wellspring_cipher::Keystream;
use wellspring_cipher::sha256::Sha256;
use wellspring_core::{Backend, KEY_BYTES, Prf};
use zeroize::Zeroize;

const PAGE_BYTES: usize = 4096;
const CHUNK_PAGES: usize = 16;

/// How many zero bytes among 32 no key has: a random one has 8 of them once in 10^12.
const ZERO_BYTES: usize = 8;

pub(crate) const OUTPUT_BYTES: usize = 16;

/// The first outputs of engines, all of one backend.
pub(crate) struct FirstOutputs {
    backend: Backend,
    outputs: Vec<[u8; OUTPUT_BYTES]>,
}

impl FirstOutputs {
    pub(crate) fn new(prf: Prf) -> Self {
        Self {
            backend: Backend::detect(prf),
            outputs: Vec::new(),
        }
    }

    /// Reads the first 16 bytes of an engine of this backend.
    pub(crate) fn read_from(&mut self, engine: &Engine) {
        assert_eq!(engine.backend(), self.backend);
        self.add(engine.bytes());
    }

    /// Adds the first 16 bytes of an engine of this backend.
    pub(crate) fn add(&mut self, output: [u8; OUTPUT_BYTES]) {
        self.outputs.push(output);
    }

    /// The places in `bytes`, such as the content of a file, of 32 bytes from which one of the outputs can be computed:
    /// at every fourth byte. And how many windows were tried.
    pub(crate) fn search_in(&self, bytes: &[u8]) -> (Vec<usize>, usize) {
        search_bytes(bytes, &mut |window| self.can_be_computed_from(window))
    }

    /// The places in this process of 32 bytes from which one of the outputs can be computed. And how many windows were
    /// tried.
    pub(crate) fn search(&self) -> (Vec<usize>, usize) {
        search_memory(&mut |window| self.can_be_computed_from(window))
    }

    /// Tries the window as the key of a generator or of a tap, and as the first seed of an engine.
    fn can_be_computed_from(&self, window: &[u8; KEY_BYTES]) -> bool {
        let mut key = [0; KEY_BYTES];
        let mut hash = Sha256::ZERO;
        hash.update(&[0; 64]);
        hash.update(window);
        hash.finish_into(&mut key);
        hash.update(&key);
        hash.finish_into(&mut key);
        // The key of a tap is the first output of its node.
        [window, &key].into_iter().any(|key| {
            let mut tap_key = [0; KEY_BYTES];
            Keystream::new(self.backend, key, 1).fill(&mut tap_key);
            self.has_output_of(key) || self.has_output_of(&tap_key)
        })
    }

    /// A node's first output is block 1 of its key. A tap's first output comes after its next key: with AES-256 that has
    /// two blocks, so it is block 2; with ChaCha20 it has a part of block 0, so it is block 1.
    fn has_output_of(&self, key: &[u8; KEY_BYTES]) -> bool {
        let mut blocks = [0; 2 * OUTPUT_BYTES];
        Keystream::new(self.backend, key, 1).fill(&mut blocks);
        let (blocks, _) = blocks.as_chunks();
        self.outputs.iter().any(|output| blocks.contains(output))
    }
}

/// Whether something secret can be computed from these bytes.
type Tells<'a> = &'a mut dyn FnMut(&[u8; KEY_BYTES]) -> bool;

/// The places in `bytes`, of every fourth, at which a window of 32 bytes tells something. And how many were tried.
fn search_bytes(bytes: &[u8], tells: Tells<'_>) -> (Vec<usize>, usize) {
    let (mut found, mut tried) = (Vec::new(), 0);
    for (number, window) in bytes.windows(KEY_BYTES).step_by(4).enumerate() {
        let window = window.try_into().unwrap();
        if !is_no_key(window) {
            tried += 1;
            if tells(window) {
                found.push(4 * number);
            }
        }
    }
    (found, tried)
}

/// The same at every fourth address of the pages that this process can write, shares with no other and has in memory.
pub(crate) fn search_memory(tells: Tells<'_>) -> (Vec<usize>, usize) {
    let memory = File::open("/proc/self/mem").unwrap();
    let pagemap = File::open("/proc/self/pagemap").unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut chunk = vec![0; CHUNK_PAGES * PAGE_BYTES + KEY_BYTES];
    let own = chunk.as_ptr().addr()..chunk.as_ptr().addr() + chunk.len();
    let (mut found, mut tried) = (Vec::new(), 0);
    for (start, end) in maps.lines().filter_map(private) {
        for first in (start..end).step_by(CHUNK_PAGES * PAGE_BYTES) {
            let pages = (end - first).div_ceil(PAGE_BYTES).min(CHUNK_PAGES);
            if !is_any_resident(&pagemap, first, pages) {
                continue;
            }
            // With the beginning of the next chunk, for the windows on the border.
            let bytes = chunk.len().min(end - first);
            // A mapping may be gone by now.
            if memory
                .read_exact_at(&mut chunk[..bytes], first as u64)
                .is_err()
            {
                continue;
            }
            if own.contains(&first) {
                continue;
            }
            let (here, tried_here) = search_bytes(&chunk[..bytes], tells);
            let here = here.into_iter().map(|offset| first + offset);
            found.extend(here.filter(|at| !own.contains(at)));
            tried += tried_here;
        }
    }
    chunk.zeroize();
    (found, tried)
}

fn is_no_key(window: &[u8; KEY_BYTES]) -> bool {
    window.iter().filter(|&&byte| byte == 0).count() >= ZERO_BYTES
}

/// The bounds of a mapping that can be written and that no other process shares.
fn private(line: &str) -> Option<(usize, usize)> {
    let is_private = line.split_whitespace().nth(1)?.starts_with("rw-p")
        || line.split_whitespace().nth(1)?.starts_with("rwxp");
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    is_private.then_some((number(start)?, number(end)?))
}

/// Whether one of these pages, or the one after them, is in memory or swapped out.
fn is_any_resident(pagemap: &File, first: usize, pages: usize) -> bool {
    let mut entries = [0; 8 * (CHUNK_PAGES + 1)];
    let entries = &mut entries[..8 * (pages + 1)];
    let offset = first / PAGE_BYTES * 8;
    if pagemap.read_exact_at(entries, offset as u64).is_err() {
        return true;
    }
    let (entries, _) = entries.as_chunks::<8>();
    let is_resident = |entry: &[u8; 8]| u64::from_ne_bytes(*entry) >> 62 != 0;
    entries.iter().any(is_resident)
}
