//! AES-256 in counter mode on VAES, two blocks a register and 16 in flight: for CPUs with AVX2 and no AVX-512.

use super::aes_counter_mode::aes_counter_mode;
use super::aes_schedule::{ROUNDS, expand};
use super::features;
use super::ymm::*;
use crate::Prf;
use crate::backend::Implementation;
use crate::machine::vectors::{aes_batches::aes_batches, reread::reread};
use crate::schedule::{Row, Schedule};
use core::arch::x86_64::{_mm256_aesenc_epi128 as round, _mm256_aesenclast_epi128 as last_round};

pub(crate) static BACKEND: Implementation = Implementation {
    name: "aes256-vaes256",
    prf: Prf::Aes256,
    features: features::AES.and(features::VAES).and(features::AVX2),
    expand,
    expand_stack_bytes: 256,
    fill,
    fill_stack_bytes: 0,
};

aes_counter_mode!("vaes,avx2");
