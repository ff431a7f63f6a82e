//! RustCrypto's `aes` and `chacha20`, brought to the 128-bit little-endian counter.
//!
//! Constant time on every machine, and what the project's own backends are tested against.

use crate::{KEY_BYTES, runs::fill_in_runs};
use aes::cipher::array::Array;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use chacha20::cipher::consts::U64;
use chacha20::cipher::{KeyIvInit, StreamCipherCore};
use chacha20::variants::Ietf;
use chacha20::{ChaCha20LegacyCore, ChaChaCore, R8, R12, Rounds};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// AES-256 in counter mode.
pub(crate) struct Aes256(aes::Aes256);

impl Aes256 {
    const BLOCK_BYTES: usize = 16;

    #[inline(never)]
    pub(crate) fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(aes::Aes256::new(key.into()))
    }

    #[inline(never)]
    pub(crate) fn fill(&self, counter: &mut u128, destination: &mut [u8]) {
        let mut next = || {
            let block = counter.to_le_bytes();
            *counter = counter.wrapping_add(1);
            block
        };
        // The counters are written where their encryption belongs, and encrypted in place: the
        // destination holds public counters until it holds keystream.
        let (blocks, tail) = Array::<u8, _>::slice_as_chunks_mut(destination);
        for block in blocks.iter_mut() {
            *block = next().into();
        }
        self.0.encrypt_blocks(blocks);
        if !tail.is_empty() {
            let mut block = next().into();
            self.0.encrypt_block(&mut block);
            tail.copy_from_slice(&block[..tail.len()]);
            block.as_mut_slice().zeroize();
        }
        const { assert!(Self::BLOCK_BYTES == size_of::<aes::Block>()) };
    }
}

impl ZeroizeOnDrop for Aes256 {}

/// ChaCha20, and ChaCha with fewer rounds, the counter in words 12 to 15.
pub(crate) struct ChaCha20([u8; KEY_BYTES]);

impl ChaCha20 {
    const BLOCK_BYTES: usize = 64;

    #[inline(never)]
    pub(crate) fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(*key)
    }

    #[inline(never)]
    pub(crate) fn fill<const ROUNDS: usize>(&self, counter: &mut u128, destination: &mut [u8]) {
        const { assert!(matches!(ROUNDS, 8 | 12 | 20)) };
        fill_in_runs(
            counter,
            Self::BLOCK_BYTES,
            destination,
            |first, run| match ROUNDS {
                8 => self.fill_reduced::<R8>(first, run),
                12 => self.fill_reduced::<R12>(first, run),
                _ => self.fill_low((first >> 64) as u64, first as u64, run),
            },
        );
    }

    /// Fills a run whose block numbers do not carry out of 64 bits.
    ///
    /// The crate counts 64 bits (words 12 and 13) and takes words 14 and 15 as a nonce.
    fn fill_low(&self, high: u64, low: u64, destination: &mut [u8]) {
        let mut core = ChaCha20LegacyCore::new(&self.0.into(), &high.to_le_bytes().into());
        core.set_block_pos(low);
        write_keystream(core, destination);
    }

    /// As [`fill_low`](Self::fill_low), with fewer rounds.
    ///
    /// With fewer rounds the crate has only the variant that counts 32 bits (word 12) and takes words
    /// 13 to 15 as a nonce. A new nonce is set after every 2^32 blocks.
    fn fill_reduced<R: Rounds>(&self, first: u128, destination: &mut [u8]) {
        let (mut counter, mut rest) = (first, destination);
        while !rest.is_empty() {
            let blocks_until_wrap = (1 << 32) - u64::from(counter as u32);
            let bytes_until_wrap = blocks_until_wrap.saturating_mul(Self::BLOCK_BYTES as u64);
            let bytes = rest.len() as u64;
            let (part, after) = rest.split_at_mut(bytes_until_wrap.min(bytes) as usize);
            let mut nonce = [0; 12];
            nonce.copy_from_slice(&counter.to_le_bytes()[4..]);
            let mut core = ChaChaCore::<R, Ietf>::new(&self.0.into(), &nonce.into());
            core.set_block_pos(counter as u32);
            write_keystream(core, part);
            counter = counter.wrapping_add(u128::from(blocks_until_wrap));
            rest = after;
        }
    }
}

/// Overwrites `destination` with the next blocks of `core`, the last of them in part.
fn write_keystream(mut core: impl StreamCipherCore<BlockSize = U64>, destination: &mut [u8]) {
    let (blocks, tail) = Array::<u8, _>::slice_as_chunks_mut(destination);
    core.write_keystream_blocks(blocks);
    if !tail.is_empty() {
        let mut block = Array::default();
        core.write_keystream_block(&mut block);
        tail.copy_from_slice(&block[..tail.len()]);
        block.as_mut_slice().zeroize();
    }
}

impl Drop for ChaCha20 {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
