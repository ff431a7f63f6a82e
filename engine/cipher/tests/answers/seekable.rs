//! Seekable keystreams at every block number and number of rounds, on every implementation.

use crate::model::{self, COUNTER, KEY};
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

/// The floats of the words of a keystream.
fn floats<const WORD_BYTES: usize, T>(stream: &[u8], float: fn([u8; WORD_BYTES]) -> T) -> Vec<T> {
    let (words, _) = stream.as_chunks();
    words.iter().map(|word| float(*word)).collect()
}

#[test]
fn uniform_floats_are_those_of_the_words_and_the_others_are_untouched() {
    const LONGEST: usize = if cfg!(miri) { 70 } else { 5 * 1024 + 100 };
    for (function, rounds, backend, keystream) in keystreams() {
        let stream = plain(function, rounds, COUNTER, LONGEST);
        let wide = floats(&stream, |word| {
            (u64::from_le_bytes(word) >> 11) as f64 / 2f64.powi(53)
        });
        let single = floats(&stream, |word| {
            (u32::from_le_bytes(word) >> 8) as f32 / 2f32.powi(24)
        });
        for length in (0..=wide.len()).step_by(7) {
            let case = format!("{function:?} {backend}: {length}");
            let (mut a, mut b) = (vec![9.0; length], vec![9.0; length]);
            let made = keystream.fill_uniform(COUNTER, &mut a);
            assert!(a[..made] == wide[..made], "{case}");
            assert!(a[made..].iter().all(|number| *number == 9.0), "{case}");
            let made = keystream.fill_uniform(COUNTER, &mut b);
            assert!(b[..made] == single[..made], "{case}");
            assert!(b[made..].iter().all(|number| *number == 9.0), "{case}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn chacha_on_avx512_makes_floats_of_whole_batches_where_the_block_number_does_not_wrap() {
    const NAME: &str = "chacha20-avx512";
    assert!(Backend::ALL.iter().any(|backend| backend.name() == NAME));
    for (function, _, _, keystream) in
        keystreams().filter(|(_, _, backend, _)| backend.name() == NAME)
    {
        let mut numbers = vec![0.0f64; 3 * 128 + 5];
        assert_eq!(keystream.fill_uniform(COUNTER, &mut numbers), 3 * 128);
        assert_eq!(keystream.fill_uniform(u128::MAX, &mut numbers), 0);
        let before_the_carry = (3u128 << 32) - 10;
        assert_eq!(keystream.fill_uniform(before_the_carry, &mut numbers), 0);
        let mut numbers = vec![0.0f32; 2 * 256 + 5];
        assert_eq!(keystream.fill_uniform(COUNTER, &mut numbers), 2 * 256);
        assert_eq!(
            keystream.fill_uniform(COUNTER, &mut numbers[..511]),
            256,
            "{function:?}"
        );
        assert_eq!(keystream.fill_uniform(COUNTER, &mut numbers[..255]), 0);
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
