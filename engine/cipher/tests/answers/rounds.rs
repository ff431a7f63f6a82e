//! Keystreams at every block number and number of rounds, on every implementation.

use crate::model::{self, COUNTER, KEY};
use wellspring_cipher::{Backend, Keystream, Prf};

/// The functions and the rounds of ChaCha; AES-256 takes no notice of them.
const FUNCTIONS: [(Prf, usize); 4] = [
    (Prf::Aes256, 20),
    (Prf::ChaCha20, 8),
    (Prf::ChaCha20, 12),
    (Prf::ChaCha20, 20),
];

/// `bytes` of the blocks from `first` on, by the model.
fn plain(prf: Prf, rounds: usize, first: u128, bytes: usize) -> Vec<u8> {
    if prf == Prf::Aes256 {
        return model::keystream(prf, &KEY, first, bytes);
    }
    let mut stream = Vec::new();
    let mut counter = model::Counter(first.to_le_bytes());
    while stream.len() < bytes {
        let states = model::chacha20_states(&KEY, &counter.0);
        for (last, first) in states[rounds].iter().zip(states[0]) {
            stream.extend(last.wrapping_add(first).to_le_bytes());
        }
        counter.step();
    }
    stream.truncate(bytes);
    stream
}

fn keystreams() -> impl Iterator<Item = (Prf, usize, Backend, Keystream)> {
    FUNCTIONS.into_iter().flat_map(|(prf, rounds)| {
        model::backends()
            .filter(move |backend| backend.prf() == prf)
            .map(move |backend| (prf, rounds, backend, Keystream::new(backend, &KEY, 0)))
    })
}

#[test]
fn every_length_equals_the_model_at_every_number_of_rounds() {
    const LONGEST: usize = if cfg!(miri) { 70 } else { 1100 };
    for (prf, rounds, backend, keystream) in keystreams() {
        let expected = plain(prf, rounds, COUNTER, LONGEST);
        for bytes in 0..=LONGEST {
            let mut filled = vec![0xa5; bytes];
            keystream.fill_at(rounds, COUNTER, &mut filled);
            assert!(
                filled == expected[..bytes],
                "{backend}, {rounds} rounds: {bytes}"
            );
        }
    }
}

#[test]
fn block_numbers_carry_over_all_128_bits() {
    const BLOCKS: usize = if cfg!(miri) { 5 } else { 40 };
    for (prf, rounds, backend, keystream) in keystreams() {
        for wrap in [1 << 32, 1 << 64, 1 << 96, 5 << 32, 0] {
            let first = u128::wrapping_sub(wrap, 3);
            let bytes = BLOCKS * prf.block_bytes() + 5;
            let mut filled = vec![0; bytes];
            keystream.fill_at(rounds, first, &mut filled);
            assert!(
                filled == plain(prf, rounds, first, bytes),
                "{backend}, {rounds} rounds: from {first:#x}"
            );
        }
    }
}

#[test]
fn a_fill_leaves_no_trace_in_the_next_one() {
    for (_, rounds, backend, keystream) in keystreams() {
        let (mut first, mut again) = ([0; 100], [0; 100]);
        keystream.fill_at(rounds, 7, &mut first);
        keystream.fill_at(rounds, u128::MAX, &mut [0; 33]);
        keystream.fill_at(rounds, 7, &mut again);
        assert_eq!(first, again, "{backend}, {rounds} rounds");
    }
}

#[test]
fn the_reduced_rounds_give_the_published_blocks() {
    // draft-strombergson-chacha-test-vectors-01, TC1 with a key of 256 bits: key and IV are zero.
    let published = [
        (
            8,
            "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e",
        ),
        (
            12,
            "9bf49a6a0755f953811fce125f2683d50429c3bb49e074147e0089a52eae155f",
        ),
        (
            20,
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7",
        ),
    ];
    let keystream = Keystream::new(Backend::detect(Prf::ChaCha20), &[0; 32], 0);
    for (rounds, expected) in published {
        let mut block = [0; 32];
        keystream.fill_at(rounds, 0, &mut block);
        let hex: String = block.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected, "{rounds} rounds");
    }
}

#[test]
#[should_panic(expected = "ChaCha has other rounds")]
fn other_numbers_of_rounds_are_refused() {
    let keystream = Keystream::new(Backend::ChaCha20Portable, &KEY, 0);
    keystream.fill_at(10, 0, &mut [0; 64]);
}
