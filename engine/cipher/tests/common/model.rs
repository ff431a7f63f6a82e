//! The plain generator that every backend is compared with: one block at a time, the counter a row of
//! bytes with a carry from byte to byte, no vectors and no wide integers.

#![allow(dead_code, reason = "each test program uses its own part of the model")]

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use wellspring_cipher::{Backend, KEY_BYTES, Prf};

/// A key whose bytes all differ, so that no two words or lanes can be swapped unnoticed.
pub(crate) const KEY: [u8; KEY_BYTES] = {
    let mut key = [0; KEY_BYTES];
    let mut index = 0;
    while index < KEY_BYTES {
        key[index] = 0x83u8.wrapping_add((index as u8).wrapping_mul(37));
        index += 1;
    }
    key
};

/// A counter with every byte in use and room below each carry.
pub(crate) const COUNTER: u128 = 0x0f1e_2d3c_4b5a_6978_8796_a5b4_c3d2_e1f0;

/// The backends that this CPU runs: most tests loop over them.
pub(crate) fn backends() -> impl Iterator<Item = Backend> {
    let available = |backend: &Backend| backend.is_available();
    Backend::ALL.iter().copied().filter(available)
}

/// The counter as the functions take it: 16 bytes, the least significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter(pub(crate) [u8; 16]);

impl Counter {
    /// Adds one, carrying byte by byte; the largest counter is followed by zero.
    pub(crate) fn step(&mut self) {
        for byte in &mut self.0 {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                return;
            }
        }
    }
}

/// `bytes` of keystream from `counter` on.
pub(crate) fn keystream(prf: Prf, key: &[u8; KEY_BYTES], counter: u128, bytes: usize) -> Vec<u8> {
    keystream_and_counter(prf, key, counter, bytes).0
}

/// `bytes` of keystream from `counter` on, and the counter of the block after them.
pub(crate) fn keystream_and_counter(
    prf: Prf,
    key: &[u8; KEY_BYTES],
    counter: u128,
    bytes: usize,
) -> (Vec<u8>, u128) {
    let aes = aes::Aes256::new(key.into());
    let mut counter = Counter(counter.to_le_bytes());
    let mut stream = Vec::with_capacity(bytes + 64);
    while stream.len() < bytes {
        match prf {
            Prf::Aes256 => {
                let mut block = counter.0.into();
                aes.encrypt_block(&mut block);
                stream.extend_from_slice(&block);
            }
            Prf::ChaCha20 => stream.extend_from_slice(&chacha20_block(key, &counter.0)),
        }
        counter.step();
    }
    stream.truncate(bytes);
    (stream, u128::from_le_bytes(counter.0))
}

/// The block function of RFC 8439, 2.3, with all of words 12 to 15 as the input.
pub(crate) fn chacha20_block(key: &[u8; KEY_BYTES], input: &[u8; 16]) -> [u8; 64] {
    let states = chacha20_states(key, input);
    let mut block = [0; 64];
    for (index, bytes) in block.chunks_exact_mut(4).enumerate() {
        let word = states[20][index].wrapping_add(states[0][index]);
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    block
}

/// The state before the first of the twenty rounds and after each.
pub(crate) fn chacha20_states(key: &[u8; KEY_BYTES], input: &[u8; 16]) -> [[u32; 16]; 21] {
    let words = [b"expand 32-byte k".as_slice(), key, input].concat();
    let mut state = [0u32; 16];
    for (word, bytes) in state.iter_mut().zip(words.chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().unwrap());
    }
    let mut states = [state; 21];
    for (round, after) in states.iter_mut().enumerate().skip(1) {
        let diagonal = (round + 1) % 2;
        for column in 0..4 {
            let words = [0, 1, 2, 3].map(|row| 4 * row + (column + row * diagonal) % 4);
            quarter_round(&mut state, words);
        }
        *after = state;
    }
    states
}

/// RFC 8439, 2.1.
fn quarter_round(state: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    for (x, y, z, bits) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        state[x] = state[x].wrapping_add(state[y]);
        state[z] = (state[z] ^ state[x]).rotate_left(bits);
    }
}
