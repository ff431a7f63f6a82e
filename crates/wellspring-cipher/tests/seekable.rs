//! Seekable keystreams at every block number and number of rounds, on every implementation.

mod model;

use model::{COUNTER, KEY};
use wellspring_cipher::{Backend, Prf, SeekableFunction, SeekableKeystream};

const FUNCTIONS: [(SeekableFunction, usize); 4] = [
    (SeekableFunction::Aes256, 0),
    (SeekableFunction::ChaCha8, 8),
    (SeekableFunction::ChaCha12, 12),
    (SeekableFunction::ChaCha20, 20),
];

/// `bytes` of the blocks from `first` on, by the model.
fn plain(function: SeekableFunction, rounds: usize, first: u128, bytes: usize) -> Vec<u8> {
    if function == SeekableFunction::Aes256 {
        return model::keystream(Prf::Aes256, &KEY, first, bytes);
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

fn keystreams() -> impl Iterator<Item = (SeekableFunction, usize, Backend, SeekableKeystream)> {
    FUNCTIONS.into_iter().flat_map(|(function, rounds)| {
        model::backends()
            .filter(move |backend| backend.prf() == function.prf())
            .map(move |backend| {
                let keystream = SeekableKeystream::with_backend(function, backend, &KEY);
                (function, rounds, backend, keystream)
            })
    })
}

#[test]
fn every_length_equals_the_model_at_every_number_of_rounds() {
    const LONGEST: usize = if cfg!(miri) { 70 } else { 1100 };
    for (function, rounds, backend, keystream) in keystreams() {
        let expected = plain(function, rounds, COUNTER, LONGEST);
        for bytes in 0..=LONGEST {
            let mut filled = vec![0xa5; bytes];
            keystream.fill(COUNTER, &mut filled);
            assert!(
                filled == expected[..bytes],
                "{function:?} {backend}: {bytes}"
            );
        }
    }
}

#[test]
fn block_numbers_carry_over_all_128_bits() {
    const BLOCKS: usize = if cfg!(miri) { 5 } else { 40 };
    for (function, rounds, backend, keystream) in keystreams() {
        for wrap in [1 << 32, 1 << 64, 1 << 96, 5 << 32, 0] {
            let first = u128::wrapping_sub(wrap, 3);
            let bytes = BLOCKS * function.block_bytes() + 5;
            let mut filled = vec![0; bytes];
            keystream.fill(first, &mut filled);
            assert!(
                filled == plain(function, rounds, first, bytes),
                "{function:?} {backend}: from {first:#x}"
            );
        }
    }
}

#[test]
fn a_fill_leaves_no_trace_in_the_next_one() {
    for (function, _, backend, keystream) in keystreams() {
        let (mut first, mut again) = ([0; 100], [0; 100]);
        keystream.fill(7, &mut first);
        keystream.fill(u128::MAX, &mut [0; 33]);
        keystream.fill(7, &mut again);
        assert_eq!(first, again, "{function:?} {backend}");
    }
}

#[test]
fn the_reduced_rounds_give_the_published_blocks() {
    // draft-strombergson-chacha-test-vectors-01, TC1 with a key of 256 bits: key and IV are zero.
    let published = [
        (
            SeekableFunction::ChaCha8,
            "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e",
        ),
        (
            SeekableFunction::ChaCha12,
            "9bf49a6a0755f953811fce125f2683d50429c3bb49e074147e0089a52eae155f",
        ),
        (
            SeekableFunction::ChaCha20,
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7",
        ),
    ];
    for (function, expected) in published {
        let mut block = [0; 32];
        SeekableKeystream::new(function, &[0; 32]).fill(0, &mut block);
        let hex: String = block.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected, "{function:?}");
    }
}

#[test]
#[should_panic(expected = "the backend implements another function")]
fn a_backend_of_another_function_is_refused() {
    let _ =
        SeekableKeystream::with_backend(SeekableFunction::Aes256, Backend::ChaCha20Portable, &KEY);
}

#[test]
fn debug_output_shows_no_key() {
    let keystream = SeekableKeystream::new(SeekableFunction::ChaCha8, &KEY);
    let text = format!("{keystream:?}");
    assert_eq!(text, "SeekableKeystream { function: ChaCha8, .. }");
}
