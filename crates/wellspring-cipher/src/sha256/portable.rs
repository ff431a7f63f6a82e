//! The compression function in plain Rust: additions, rotations and Boolean functions of 32-bit words.
//!
//! No branch and no address depends on the message.

use super::BLOCK_BYTES;

/// FIPS 180-4, 4.2.2: the first 32 bits of the fractions of the cube roots of the first 64 primes.
#[rustfmt::skip]
pub(crate) static CONSTANTS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5,
    0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3,
    0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc,
    0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13,
    0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3,
    0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5,
    0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208,
    0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// FIPS 180-4, 6.2.2.
#[inline(never)]
pub(super) fn compress(state: &mut [u32; 8], blocks: &[[u8; BLOCK_BYTES]]) {
    for block in blocks {
        let mut schedule = [0; 16];
        for (word, bytes) in schedule.iter_mut().zip(block.as_chunks().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        let mut variables = *state;
        rounds(&mut variables, &schedule, 0);
        for first in [16, 32, 48] {
            extend(&mut schedule);
            rounds(&mut variables, &schedule, first);
        }
        for (word, variable) in state.iter_mut().zip(variables) {
            *word = word.wrapping_add(variable);
        }
    }
}

/// From sixteen words of the schedule to the next sixteen, each in the place of the word 16 before it.
#[inline(always)]
fn extend(schedule: &mut [u32; 16]) {
    for t in 0..16 {
        let (w15, w2) = (schedule[(t + 1) % 16], schedule[(t + 14) % 16]);
        let sigma0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
        let sigma1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
        schedule[t] = schedule[t]
            .wrapping_add(sigma0)
            .wrapping_add(schedule[(t + 9) % 16])
            .wrapping_add(sigma1);
    }
}

/// Sixteen rounds, the first of them round `first`.
#[inline(always)]
fn rounds(variables: &mut [u32; 8], schedule: &[u32; 16], first: usize) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *variables;
    let constants = &CONSTANTS[first..][..16];
    for (word, constant) in schedule.iter().zip(constants) {
        let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = g ^ (e & (f ^ g));
        let new = h
            .wrapping_add(sum1)
            .wrapping_add(choice)
            .wrapping_add(*constant)
            .wrapping_add(*word);
        let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) | (c & (a | b));
        (h, g, f, e) = (g, f, e, d.wrapping_add(new));
        (d, c, b) = (c, b, a);
        a = new.wrapping_add(sum0).wrapping_add(majority);
    }
    *variables = [a, b, c, d, e, f, g, h];
}
