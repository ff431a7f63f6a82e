//! After a keystream is dropped, its stack holds no key, no output, and no state of the rounds, from which
//! ChaCha20 can be run backwards to the key.

#![cfg(all(target_os = "linux", not(miri)))]

use crate::model::{COUNTER, Counter, KEY, backends, chacha20_states, keystream};
use crate::search::{STACK_BYTES, Stack, with_room};
use std::collections::HashSet;
use std::hint::black_box;
use wellspring_cipher::{Backend, Keystream, Prf};

/// Whole batches, rows and a part of a block.
const OUTPUT_BYTES: usize = 2048 + 512 + 64 + 13;

/// The values that must not be found: eight bytes at a time, too many to appear by chance.
type Secrets = HashSet<[u8; 8]>;

fn insert_words(secrets: &mut Secrets, bytes: &[u8]) {
    for pair in bytes.windows(8).step_by(4) {
        secrets.insert(pair.try_into().unwrap());
    }
}

fn secrets(backend: Backend) -> Secrets {
    let mut secrets = Secrets::new();
    insert_words(&mut secrets, &KEY);
    for word in KEY.chunks_exact(4) {
        insert_words(&mut secrets, &word.repeat(2)); // in every lane of a vector
    }
    let stream = keystream(backend.prf(), &KEY, COUNTER, OUTPUT_BYTES);
    insert_words(&mut secrets, &stream);
    if backend.prf() == Prf::ChaCha20 {
        let blocks = (0..48).map(|block| Counter((COUNTER + block).to_le_bytes()));
        let states: Vec<_> = blocks
            .map(|counter| chacha20_states(&KEY, &counter.0))
            .collect();
        for round in 1..=20 {
            for (block, states_of_block) in states.iter().enumerate() {
                let bytes = |block: usize, word: usize| states[block][round][word].to_le_bytes();
                // Side by side where a register holds a row, and where it holds one word.
                let rows: Vec<u8> = (0..16).flat_map(|word| bytes(block, word)).collect();
                rows.chunks_exact(16)
                    .for_each(|row| insert_words(&mut secrets, row));
                for word in (0..16).filter(|_| block + 1 < states.len()) {
                    let pair = [bytes(block, word), bytes(block + 1, word)].concat();
                    insert_words(&mut secrets, &pair);
                }
                assert_eq!(states_of_block.len(), 21);
            }
        }
    }
    secrets
}

/// The number of secrets found below the caller's frame.
#[inline(never)]
fn found_below(secrets: &Secrets, stack: &mut Stack) -> usize {
    let pairs = stack.read_below().windows(8).step_by(4);
    pairs.filter(|pair| secrets.contains(*pair)).count()
}

#[test]
fn the_search_finds_a_key_that_is_left() {
    let mut stack = Stack::new();
    let secrets = secrets(Backend::Aes256Portable);
    with_room(|| {
        let copy = black_box(KEY);
        black_box(&copy);
    });
    assert_ne!(found_below(&secrets, &mut stack), 0);
}

#[test]
fn no_key_and_no_output_stays_on_the_stack() {
    let mut stack = Stack::new();
    let mut output = vec![0; OUTPUT_BYTES];
    let mut left = Vec::new();
    for backend in backends() {
        let secrets = secrets(backend);
        with_room(|| {
            black_box([0u8; STACK_BYTES]);
        });
        assert_eq!(found_below(&secrets, &mut stack), 0, "{backend}: before");
        with_room(|| {
            let mut stream = Keystream::new(backend, &KEY, COUNTER);
            stream.fill(&mut output);
        });
        let found = found_below(&secrets, &mut stack);
        left.extend((found > 0).then_some((backend, found)));
    }
    assert_eq!(left, [], "pieces of secrets left on the stack");
}

#[test]
fn no_key_and_no_output_of_blocks_at_a_number_stays_on_the_stack() {
    let mut stack = Stack::new();
    let mut output = vec![0; OUTPUT_BYTES];
    let mut left = Vec::new();
    for backend in backends() {
        let secrets = secrets(backend);
        with_room(|| {
            black_box([0u8; STACK_BYTES]);
        });
        with_room(|| Keystream::new(backend, &KEY, 0).fill_at(20, COUNTER, &mut output));
        let found = found_below(&secrets, &mut stack);
        left.extend((found > 0).then_some((backend, found)));
    }
    assert_eq!(left, [], "pieces of secrets left on the stack");
}
