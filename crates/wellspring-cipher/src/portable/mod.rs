//! AES-256-CTR and ChaCha20 in plain Rust, for every machine.
//!
//! ```text
//! aes       bitsliced AES-256, four blocks at a time
//! sbox      its S-box, a circuit
//! chacha20  ChaCha with 8, 12 or 20 rounds, one block at a time
//! ```
//!
//! No branch and no address depends on the key. All words are read and written as little-endian bytes:
//! the result is the same on big-endian machines.

mod aes;
mod chacha20;
mod sbox;

pub(crate) use aes::Aes256;
pub(crate) use chacha20::fill as fill_chacha20;
