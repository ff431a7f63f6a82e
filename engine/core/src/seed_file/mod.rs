//! The content of a seed file: secrets that outlive a boot, one section for each node.
//!
//! ```text
//! format  the bytes of the file, and the file that comes after it
//! credit  the credit of the seed, on this machine and in this boot
//! ```
//!
//! Files, clocks and machines belong to the caller. All numbers are little endian:
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `wellseed` |
//! | 8 | 2 | version: 1 |
//! | 10 | 2 | n, the sections: 1 to 64 |
//! | 12 | 4 | the credit in bits: 0, or up to 256 |
//! | 16 | 8 | the counter: one more with every writing |
//! | 24 | 32 | the [identity](FileId) of the file; zeros if copies cannot be told apart |
//! | 56 | 16 | the [boot](Boot) in which it was written |
//! | 72 | 32 n | the sections: section i comes from the generator of node i |
//! | 72 + 32 n | 32 | SHA-256 of all before it |
//!
//! A machine with another number of nodes loses nothing: an engine mixes in a hash over *all* sections, and every
//! section of the file's successor depends on all of them too. (The per-node pools once proposed for Linux saved
//! node 0 alone.)

mod credit;
mod format;

pub use credit::Uncredited;
pub use format::{
    Boot, Damage, FULL_CREDIT_BITS, FileId, MAX_BYTES, SeedFile, UNKNOWN_BOOT, UNKNOWN_FILE,
};
