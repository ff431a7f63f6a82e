//! Tries every 32 bytes of this process's memory as a key or a seed: can a past output be computed from them?

use testkit::memory::{Part, find};
use wellspring::Engine;
use wellspring_cipher::Keystream;
use wellspring_cipher::sha256::Sha256;
use wellspring_core::{Backend, KEY_BYTES, Prf};

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

    /// Tries every window of 32 bytes in `bytes`, such as the content of a file, at every fourth byte. Returns the
    /// places of windows that give one of the outputs, and how many windows were tried.
    pub(crate) fn search_in(&self, bytes: &[u8]) -> (Vec<usize>, usize) {
        search_bytes(bytes, &mut |window| self.can_be_computed_from(window))
    }

    /// The same in the memory of this process.
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

/// The places in `bytes`, at every fourth byte, where a window of 32 bytes tells something; and how many windows were tried.
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
    let mut tried = 0;
    let found = find(
        "self",
        Part::PrivateResident,
        (KEY_BYTES, 4),
        &mut |window| {
            let window = window.try_into().unwrap();
            if is_no_key(window) {
                return false;
            }
            tried += 1;
            tells(window)
        },
    );
    (found.unwrap(), tried)
}

fn is_no_key(window: &[u8; KEY_BYTES]) -> bool {
    window.iter().filter(|&&byte| byte == 0).count() >= ZERO_BYTES
}
