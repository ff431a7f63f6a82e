//! AES-256 in counter mode on AESE and AESMC, one block a register: 8 in flight.

use super::aes_schedule::{ROUNDS, expand};
use super::features;
use super::neon::*;
use crate::Prf;
use crate::backend::Implementation;
use crate::machine::vectors::{aes_batches::aes_batches, reread::reread};
use crate::schedule::{Row, Schedule};
use core::arch::aarch64::*;

pub(crate) static BACKEND: Implementation = Implementation {
    name: "aes256-ce",
    prf: Prf::Aes256,
    features: features::AES,
    expand,
    expand_stack_bytes: 256,
    fill,
    fill_stack_bytes: 0,
};

aes_batches!("aes,neon");

/// Encrypts `N` registers of counters, the first of them `counters`.
///
/// AESE adds the key of a round before SubBytes and ShiftRows, where FIPS 197 adds it after MixColumns. AESMC is behind AESE
/// on the same register: cores execute the two as one.
#[inline]
#[target_feature(enable = "aes,neon")]
fn encrypt<const N: usize>(keys: &[Row; 16], counters: Vector) -> [Vector; N] {
    let keys = reread(keys);
    let key = |round: usize| vreinterpretq_u8_u32(every_lane(&keys[round]));
    let mut states = [vreinterpretq_u8_u32(counters); N];
    for (index, state) in states.iter_mut().enumerate() {
        *state = vreinterpretq_u8_u32(add_low(counters, step(index)));
    }
    for round in 0..ROUNDS - 1 {
        for state in &mut states {
            *state = vaesmcq_u8(vaeseq_u8(*state, key(round)));
        }
    }
    states.map(|state| {
        let substituted = vaeseq_u8(state, key(ROUNDS - 1));
        vreinterpretq_u32_u8(veorq_u8(substituted, key(ROUNDS)))
    })
}
