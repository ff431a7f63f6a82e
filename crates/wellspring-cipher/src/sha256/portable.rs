//! The compression function in plain Rust: additions, rotations and Boolean functions of 32-bit words.
//!
//! No branch and no address depends on the message.

use super::constants::{BLOCK_BYTES, ROUND_CONSTANTS};

/// FIPS 180-4, 6.2.2.
#[inline(never)]
pub(super) fn compress(state: &mut [u32; 8], blocks: &[[u8; BLOCK_BYTES]]) {
    for block in blocks {
        let mut schedule = [0; 16];
        for (word, bytes) in schedule.iter_mut().zip(block.as_chunks().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        let mut variables = *state;
        let (constants, _) = ROUND_CONSTANTS.as_chunks();
        for (part, constants) in constants.iter().enumerate() {
            sixteen_rounds(&mut variables, &mut schedule, constants, part > 0);
        }
        for (word, variable) in state.iter_mut().zip(variables) {
            *word = word.wrapping_add(variable);
        }
    }
}

/// Sixteen rounds, with the words of `schedule` or, if `extends`, with the sixteen after them.
///
/// Written out, so that each variable stays in its register: in a loop all eight would move up after
/// every round, and 4 KiB took 15.0 us where they take 11.7 us now.
///
/// Not inlined, and the same code with and without an extension: inlined, the compiler wrote it out four times.
#[inline(never)]
fn sixteen_rounds(
    variables: &mut [u32; 8],
    schedule: &mut [u32; 16],
    constants: &[u32; 16],
    extends: bool,
) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *variables;
    let mut input = |t: usize| {
        if extends {
            extend(schedule, t);
        }
        schedule[t].wrapping_add(constants[t])
    };
    macro_rules! eight_rounds {
        ($first:expr) => {
            (d, h) = round([a, b, c, d, e, f, g, h], input($first));
            (c, g) = round([h, a, b, c, d, e, f, g], input($first + 1));
            (b, f) = round([g, h, a, b, c, d, e, f], input($first + 2));
            (a, e) = round([f, g, h, a, b, c, d, e], input($first + 3));
            (h, d) = round([e, f, g, h, a, b, c, d], input($first + 4));
            (g, c) = round([d, e, f, g, h, a, b, c], input($first + 5));
            (f, b) = round([c, d, e, f, g, h, a, b], input($first + 6));
            (e, a) = round([b, c, d, e, f, g, h, a], input($first + 7));
        };
    }
    eight_rounds!(0);
    eight_rounds!(8);
    *variables = [a, b, c, d, e, f, g, h];
}

/// The two variables that a round changes: those that become E and A of the next.
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

/// Puts word `t` + 16 of the schedule in the place of word `t`.
#[inline(always)]
fn extend(schedule: &mut [u32; 16], t: usize) {
    let (w15, w2) = (schedule[(t + 1) % 16], schedule[(t + 14) % 16]);
    let sigma0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
    let sigma1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
    schedule[t] = schedule[t]
        .wrapping_add(sigma0)
        .wrapping_add(schedule[(t + 9) % 16])
        .wrapping_add(sigma1);
}
