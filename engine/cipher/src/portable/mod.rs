//! The implementations in plain Rust, for every machine.
//!
//! ```text
//! aes       bitsliced AES-256, four blocks at a time
//! sbox      its S-box, a circuit
//! chacha20  ChaCha with any number of rounds, one block at a time
//! sha256    the compression function of SHA-256
//! ```
//!
//! No branch and no address depends on the key. All words are read and written as little-endian bytes:
//! the result is the same on big-endian machines.

pub(crate) mod aes;
pub(crate) mod chacha20;
mod sbox;
pub(crate) mod sha256;
