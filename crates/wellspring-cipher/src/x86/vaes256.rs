//! AES-256 in counter mode on VAES, two blocks a register: for CPUs with AVX2 and no AVX-512.

use super::aes_counter_mode::aes_counter_mode;
use super::aes_schedule::{ROUNDS, RoundKeys};
use super::reread::{of_unknown_length, reread};
use super::ymm::*;
use core::arch::x86_64::{_mm256_aesenc_epi128 as round, _mm256_aesenclast_epi128 as last_round};

aes_counter_mode!("vaes,avx2");
