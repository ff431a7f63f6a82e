//! AES-256 in counter mode on VAES and AVX-512: four blocks a register.

use super::aes_counter_mode::aes_counter_mode;
use super::aes_schedule::{ROUNDS, RoundKeys};
use super::reread::{of_unknown_length, reread};
use super::zmm::*;
use core::arch::x86_64::{_mm512_aesenc_epi128 as round, _mm512_aesenclast_epi128 as last_round};

aes_counter_mode!("vaes,avx512f,avx512bw,avx512vl");
