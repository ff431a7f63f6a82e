//! AES-256 in counter mode on AES-NI, one block a register: 8 in flight.

use super::aes_counter_mode::aes_counter_mode;
use super::aes_schedule::{ROUNDS, expand};
use super::features;
use super::xmm::*;
use crate::Prf;
use crate::backend::Implementation;
use crate::machine::vectors::{aes_batches::aes_batches, reread::reread};
use crate::schedule::{Row, Schedule};
use core::arch::x86_64::{_mm_aesenc_si128 as round, _mm_aesenclast_si128 as last_round};

pub(crate) static BACKEND: Implementation = Implementation {
    name: "aes256-ni",
    prf: Prf::Aes256,
    features: features::AES,
    expand,
    expand_stack_bytes: 256,
    fill,
    fill_stack_bytes: 0,
};

aes_counter_mode!("aes,sse2");
