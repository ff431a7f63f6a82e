//! AES-256 in counter mode on VAES and AVX-512 (F, BW, DQ, VL), four blocks a register: 32 in flight.

use super::aes_counter_mode::aes_counter_mode;
use super::aes_schedule::{ROUNDS, expand};
use super::features;
use super::zmm::*;
use crate::Prf;
use crate::backend::Implementation;
use crate::machine::vectors::{aes_batches::aes_batches, reread::reread};
use crate::schedule::{Row, Schedule};
use core::arch::x86_64::{_mm512_aesenc_epi128 as round, _mm512_aesenclast_epi128 as last_round};

pub(crate) static BACKEND: Implementation = Implementation {
    name: "aes256-vaes512",
    prf: Prf::Aes256,
    features: features::AES.and(features::VAES).and(features::AVX512),
    expand,
    expand_stack_bytes: 256,
    fill,
    fill_stack_bytes: 0,
};

aes_counter_mode!("vaes,avx512f,avx512bw,avx512vl");
