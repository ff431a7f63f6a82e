//! The common part of implementations on vector instructions, as macros over one width of register.
//!
//! ```text
//! aes_batches      generation of encrypted counters
//! chacha20_rounds  generation of ChaCha blocks
//! reread           keeps keys off the stack
//! ```

pub(crate) mod aes_batches;
pub(crate) mod chacha20_rounds;
pub(crate) mod reread;
