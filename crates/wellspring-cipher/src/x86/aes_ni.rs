//! AES-256 in counter mode on AES-NI: one block a register.

use super::aes_counter_mode::aes_counter_mode;
use super::aes_schedule::{ROUNDS, RoundKeys};
use super::reread::{of_unknown_length, reread};
use super::xmm::*;
use core::arch::x86_64::{_mm_aesenc_si128 as round, _mm_aesenclast_si128 as last_round};

aes_counter_mode!("aes,sse2");
