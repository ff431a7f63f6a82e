//! The backends for x86-64.
//!
//! ```text
//! features           the instructions that this CPU has
//! xmm ymm zmm        loads, stores and counters for each register width
//! aes_schedule       the round keys, one schedule for all widths
//! aes_counter_mode   generation of encrypted counters, for any width
//!   aes_ni vaes256 vaes512
//! chacha20_rounds    generation of ChaCha20 blocks, for any width
//!   chacha20_sse2 chacha20_avx2 chacha20_avx512
//! sha_ni             the compression function of SHA-256
//! reread             keeps keys off the stack
//! ```
//!
//! A `fill` reads the key and the counter, and stores registers directly in the caller's memory. No
//! branch and no address depends on the key. Every `fill` wipes the registers that it used.

mod aes_counter_mode;
pub(crate) mod aes_ni;
pub(crate) mod aes_schedule;
pub(crate) mod chacha20_avx2;
pub(crate) mod chacha20_avx512;
mod chacha20_rounds;
pub(crate) mod chacha20_sse2;
pub(crate) mod features;
mod reread;
pub(crate) mod sha_ni;
pub(crate) mod vaes256;
pub(crate) mod vaes512;
pub(crate) mod xmm;
pub(crate) mod ymm;
pub(crate) mod zmm;
