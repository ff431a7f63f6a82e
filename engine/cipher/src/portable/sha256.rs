//! The compression function in plain Rust: additions, rotations and Boolean functions of 32-bit words.
//!
//! No branch and no address depends on the message.

use crate::features::Features;
use crate::sha256::compression::Implementation;
use crate::sha256::constants::{BLOCK_BYTES, ROUND_CONSTANTS};

pub(crate) static COMPRESSION: Implementation = Implementation {
    name: "sha256-portable",
    features: Features::NONE,
    compress,
    // 64 bytes of the schedule and some spilled variables: 0.3 KiB in all.
    stack_bytes: 1024,
};

/// FIPS 180-4, 6.2.2.
///
/// Eight rounds are written out, so that each variable stays in its register: in a loop over rounds all eight would move
/// up after every round, and 4 KiB took 15.0 us where they took 11.7.
#[inline(never)]
fn compress(state: &mut [u32; 8], blocks: &[[u8; BLOCK_BYTES]]) {
    for block in blocks {
        let mut schedule = [[0; 8]; 2];
        for (word, bytes) in schedule
            .as_flattened_mut()
            .iter_mut()
            .zip(block.as_chunks().0)
        {
            *word = u32::from_be_bytes(*bytes);
        }
        let [mut now, mut other] = schedule.each_mut();
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        let (constants, _) = ROUND_CONSTANTS.as_chunks::<8>();
        for (part, constants) in constants.iter().enumerate() {
            let mut input = |t: usize| {
                if part > 1 {
                    extend(now, other, t);
                }
                now[t].wrapping_add(constants[t])
            };
            (d, h) = round([a, b, c, d, e, f, g, h], input(0));
            (c, g) = round([h, a, b, c, d, e, f, g], input(1));
            (b, f) = round([g, h, a, b, c, d, e, f], input(2));
            (a, e) = round([f, g, h, a, b, c, d, e], input(3));
            (h, d) = round([e, f, g, h, a, b, c, d], input(4));
            (g, c) = round([d, e, f, g, h, a, b, c], input(5));
            (f, b) = round([c, d, e, f, g, h, a, b], input(6));
            (e, a) = round([b, c, d, e, f, g, h, a], input(7));
            core::mem::swap(&mut now, &mut other);
        }
        for (word, variable) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *word = word.wrapping_add(variable);
        }
    }
}

/// The two variables that a round changes. They become E and A of the next round.
#[inline(always)]
fn round([a, b, c, d, e, f, g, h]: [u32; 8], input: u32) -> (u32, u32) {
    let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
    let choice = g ^ (e & (f ^ g));
    let first = h
        .wrapping_add(sum1)
        .wrapping_add(choice)
        .wrapping_add(input);
    let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
    let majority = (a & b) ^ (c & (a ^ b));
    let second = sum0.wrapping_add(majority);
    (d.wrapping_add(first), first.wrapping_add(second))
}

/// Puts word `t` + 16 of the schedule in the place of word `t`. Words `t` to `t` + 15 are the rest of `now`, all of
/// `other` and the start of `now`, which was extended before.
#[inline(always)]
fn extend(now: &mut [u32; 8], other: &[u32; 8], t: usize) {
    let word = |at: usize| match at {
        0..8 => now[at],
        8..16 => other[at - 8],
        _ => now[at - 16],
    };
    let (w15, w2) = (word(t + 1), word(t + 14));
    let sigma0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
    let sigma1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
    now[t] = now[t]
        .wrapping_add(sigma0)
        .wrapping_add(word(t + 9))
        .wrapping_add(sigma1);
}
