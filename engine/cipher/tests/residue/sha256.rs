//! After a call the stack below a hash holds nothing of the message, of its schedule, of the working
//! variables and of the digest: each of them leads back to the seed or the pool that was hashed.

#![cfg(all(target_os = "linux", not(miri)))]

use crate::search::{STACK_BYTES, Stack, with_room};
use sha2::Digest;
use std::collections::HashSet;
use std::hint::black_box;
use wellspring_cipher::sha256::{Compression, DIGEST_BYTES, Sha256};

/// Three whole blocks and a part of one.
const MESSAGE_BYTES: usize = 3 * 64 + 27;

/// One word of 32 bits may be met by chance, about once in ten thousand runs; two are not.
const BY_CHANCE: usize = 1;

/// The words that must not be found, each alone: the compiler spills the variables one by one.
type Secrets = HashSet<[u8; 4]>;

fn message() -> Vec<u8> {
    let seeds = (0u8..).map(|seed| sha2::Sha256::digest([seed]));
    seeds.flatten().take(MESSAGE_BYTES).collect()
}

/// The words of the padded message and of its schedule, the variables after each round, the states
/// between the blocks and the digest, in both byte orders.
fn secrets(message: &[u8]) -> Secrets {
    let constants = fractions_of_roots::<64>(3);
    let initial = fractions_of_roots::<8>(2);
    let mut words = Vec::new();
    let mut state = initial;
    for block in padded(message).chunks_exact(64) {
        let mut schedule = [0u32; 64];
        for t in 0..64 {
            schedule[t] = match t {
                0..16 => u32::from_be_bytes(block[4 * t..][..4].try_into().unwrap()),
                _ => next_word(&schedule[t - 16..t]),
            };
        }
        words.extend(schedule);
        let mut variables = state;
        for (word, constant) in schedule.iter().zip(constants) {
            round(&mut variables, word.wrapping_add(constant));
            words.extend(variables);
        }
        for (word, variable) in state.iter_mut().zip(variables) {
            *word = word.wrapping_add(variable);
        }
        words.extend(state);
    }
    let digest: Vec<u8> = state.iter().flat_map(|word| word.to_be_bytes()).collect();
    assert_eq!(digest, *sha2::Sha256::digest(message), "the model itself");
    // These are no secrets: the initial state, and words of the padding.
    words.retain(|word| !initial.contains(word) && *word > 0xffff);
    let both = |word: u32| [word.to_be_bytes(), word.to_le_bytes()];
    words.into_iter().flat_map(both).collect()
}

/// The first 32 bits of the fractions of the square or cube roots of the first primes.
fn fractions_of_roots<const N: usize>(degree: u32) -> [u32; N] {
    let mut primes = (2u128..).filter(|n| (2..*n).all(|divisor| n % divisor != 0));
    [(); N].map(|()| {
        let shifted = primes.next().unwrap() << (32 * degree);
        let bits = (0..40).rev();
        bits.fold(0u128, |root, bit| match root | 1 << bit {
            larger if larger.pow(degree) <= shifted => larger,
            _ => root,
        }) as u32
    })
}

/// FIPS 180-4, 5.1.1.
fn padded(message: &[u8]) -> Vec<u8> {
    let mut padded = [message, &[0x80]].concat();
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    padded
}

/// FIPS 180-4, 6.2.2 step 1, from the sixteen words before.
fn next_word(before: &[u32]) -> u32 {
    let (w15, w2) = (before[1], before[14]);
    let sigma0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
    let sigma1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
    [before[0], sigma0, before[9], sigma1]
        .into_iter()
        .fold(0, u32::wrapping_add)
}

/// FIPS 180-4, 6.2.2 step 3.
fn round(variables: &mut [u32; 8], input: u32) {
    let [a, b, c, d, e, f, g, h] = *variables;
    let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
    let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
    let choice = (e & f) ^ (!e & g);
    let majority = (a & b) ^ (a & c) ^ (b & c);
    let first = [h, sum1, choice, input]
        .into_iter()
        .fold(0, u32::wrapping_add);
    let second = sum0.wrapping_add(majority);
    *variables = [
        first.wrapping_add(second),
        a,
        b,
        c,
        d.wrapping_add(first),
        e,
        f,
        g,
    ];
}

/// The number of secrets found below the caller's frame.
#[inline(never)]
fn found_below(secrets: &Secrets, stack: &mut Stack) -> usize {
    let (words, _) = stack.read_below().as_chunks();
    let found: HashSet<[u8; 4]> = words
        .iter()
        .copied()
        .filter(|word| secrets.contains(word))
        .collect();
    found.len()
}

#[test]
fn the_search_finds_a_schedule_that_is_left() {
    let secrets = secrets(&message());
    let mut stack = Stack::new();
    let message = message();
    with_room(|| {
        let copy: [u8; 64] = black_box(message[..64].try_into().unwrap());
        black_box(&copy);
    });
    assert!(found_below(&secrets, &mut stack) > BY_CHANCE);
}

#[test]
fn nothing_of_a_message_stays_on_the_stack() {
    let message = message();
    let secrets = secrets(&message);
    let mut stack = Stack::new();
    let mut hash = Box::new(Sha256::ZERO);
    let mut digest = Box::new([0; DIGEST_BYTES]);
    for compression in Compression::ALL.iter().copied() {
        if !compression.is_available() {
            println!("SKIPPED: {compression}, which this CPU lacks");
            continue;
        }
        with_room(|| {
            black_box([0u8; STACK_BYTES]);
        });
        let before = found_below(&secrets, &mut stack);
        assert!(before <= BY_CHANCE, "{compression}: before");
        // Buffered only, a buffered block and whole ones, then the padding.
        for part in [&message[..30], &message[30..]] {
            with_room(|| hash.update_by(compression, part));
            let found = found_below(&secrets, &mut stack);
            assert!(found <= BY_CHANCE, "{compression}: {found} after an update");
        }
        with_room(|| hash.finish_into_by(compression, &mut digest));
        let found = found_below(&secrets, &mut stack);
        assert!(
            found <= BY_CHANCE,
            "{compression}: {found} after the digest"
        );
        assert_eq!(*digest, *sha2::Sha256::digest(&message));
    }
}
