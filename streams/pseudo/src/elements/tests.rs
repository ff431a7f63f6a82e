use std::format;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::arrays::{Kind, Words};
use super::*;
use crate::{Algorithm, Stream};
use wellspring_cipher::Width;

const FUNCTIONS: [Algorithm; 5] = [
    Algorithm::Philox4x64,
    Algorithm::ChaCha8,
    Algorithm::ChaCha12,
    Algorithm::ChaCha20,
    Algorithm::Aes256Ctr,
];

/// One array of each kind, as bits.
#[derive(Clone, Copy, Debug)]
enum Array {
    UniformF64,
    UniformF32,
    NormalF64,
    NormalF32,
    ExponentialF64,
    Integers64,
    Integers32,
    ManyRejected,
    Permutation,
}

const ARRAYS: [Array; 9] = [
    Array::UniformF64,
    Array::UniformF32,
    Array::NormalF64,
    Array::NormalF32,
    Array::ExponentialF64,
    Array::Integers64,
    Array::Integers32,
    Array::ManyRejected,
    Array::Permutation,
];

fn fill(elements: &Elements, array: Array, first: u64, length: usize) -> Vec<u64> {
    let (mut wide, mut narrow) = (vec![0.0f64; length], vec![0.0f32; length]);
    let (mut integers, mut small) = (vec![0i64; length], vec![0u32; length]);
    let mut order = vec![0; length];
    match array {
        Array::UniformF64 => elements.uniform(first, &mut wide),
        Array::UniformF32 => elements.uniform(first, &mut narrow),
        Array::NormalF64 => elements.standard_normal(first, &mut wide),
        Array::NormalF32 => elements.standard_normal(first, &mut narrow),
        Array::ExponentialF64 => elements.standard_exponential(first, &mut wide),
        Array::Integers64 => elements.integers(-5..=i64::MAX, first, &mut integers),
        Array::Integers32 => elements.integers(1..=6, first, &mut small),
        Array::ManyRejected => elements.integers(7..=(1 << 31) + 7, first, &mut small),
        Array::Permutation => elements.permutation(1 << 63).fill(first, &mut order),
    }
    .unwrap();
    match array {
        Array::UniformF64 | Array::NormalF64 | Array::ExponentialF64 => {
            wide.into_iter().map(f64::to_bits).collect()
        }
        Array::UniformF32 | Array::NormalF32 => {
            narrow.into_iter().map(|x| x.to_bits().into()).collect()
        }
        Array::Integers64 => integers.into_iter().map(|x| x as u64).collect(),
        Array::Integers32 | Array::ManyRejected => small.into_iter().map(u64::from).collect(),
        Array::Permutation => order,
    }
}

fn function() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(FUNCTIONS.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_array_does_not_depend_on_how_it_is_cut(
        algorithm in function(),
        array in prop::sample::select(ARRAYS.to_vec()),
        first in prop_oneof![0..3000u64, Just((1 << 61) - 700), Just((1 << 62) - 700)],
        cuts in prop::collection::vec(0..1500usize, 1..4),
    ) {
        let elements = Elements::new(algorithm, 7, &[1]).unwrap();
        let whole = fill(&elements, array, first, cuts.iter().sum());
        let mut pieces = Vec::new();
        for length in cuts {
            pieces.extend(fill(&elements, array, first + pieces.len() as u64, length));
        }
        prop_assert_eq!(whole, pieces);
    }

    #[test]
    fn an_array_does_not_depend_on_the_width(
        algorithm in function(),
        array in prop::sample::select(ARRAYS.to_vec()),
        first in 0..3000u64,
    ) {
        let elements = Elements::new(algorithm, 7, &[1]).unwrap();
        let expected = fill(&elements, array, first, 1100);
        for &width in Width::ALL.iter().filter(|width| width.is_available()) {
            let narrow = elements.clone().with_width(width);
            prop_assert_eq!(&fill(&narrow, array, first, 1100), &expected, "{}", width);
        }
    }

    #[test]
    fn uniform_floats_are_the_stream(algorithm in function(), first in 0..1u64 << 40) {
        let elements = Elements::new(algorithm, 7, &[1]).unwrap();
        let stream = Stream::new(algorithm, 7, &[1]);
        let (mut wide, mut narrow) = ([0.0f64; 20], [0.0f32; 20]);
        elements.uniform(first, &mut wide).unwrap();
        elements.uniform(first, &mut narrow).unwrap();
        let mut words = stream.at(8 * u128::from(first));
        prop_assert_eq!(wide, [(); 20].map(|()| arrays::from_u64(words.next_u64())));
        let mut words = stream.at(4 * u128::from(first));
        prop_assert_eq!(
            narrow,
            [(); 20].map(|()| (words.next_u32() >> 8) as f32 / 16_777_216.0)
        );
    }
}

#[test]
fn threads_fill_one_array_together() {
    let elements = Elements::new(Algorithm::Aes256Ctr, 7, &[]).unwrap();
    let mut whole = vec![0.0f64; 10_000];
    elements.standard_normal(3, &mut whole).unwrap();
    for threads in [2, 3, 7] {
        let mut together = vec![0.0f64; 10_000];
        let length = together.len().div_ceil(threads);
        std::thread::scope(|scope| {
            for (number, part) in together.chunks_mut(length).enumerate() {
                let first = (3 + number * length) as u64;
                let elements = &elements;
                scope.spawn(move || elements.standard_normal(first, part).unwrap());
            }
        });
        assert_eq!(whole, together, "{threads} threads");
    }
}

#[test]
fn zero_is_possible_and_one_is_not() {
    assert_eq!(arrays::from_u64(0), 0.0);
    assert_eq!(arrays::from_u64((1 << 11) - 1), 0.0);
    assert_eq!(arrays::from_u64(u64::MAX), 1.0 - f64::EPSILON / 2.0);
    assert_eq!(uniform::from_u32(u32::MAX), 1.0 - f32::EPSILON / 2.0);
    assert_eq!(uniform::from_u32(255), 0.0);
}

#[test]
fn a_smaller_float_is_the_larger_one_rounded() {
    let elements = Elements::new(Algorithm::ChaCha8, 7, &[]).unwrap();
    let (mut wide, mut narrow) = (vec![0.0f64; 5000], vec![0.0f32; 5000]);
    elements.standard_normal(9, &mut wide).unwrap();
    elements.standard_normal(9, &mut narrow).unwrap();
    assert!(
        wide.iter()
            .zip(&narrow)
            .all(|(wide, narrow)| *wide as f32 == *narrow)
    );
    elements.standard_exponential(9, &mut wide).unwrap();
    elements.standard_exponential(9, &mut narrow).unwrap();
    assert!(
        wide.iter()
            .zip(&narrow)
            .all(|(wide, narrow)| *wide as f32 == *narrow)
    );
}

#[test]
fn kinds_and_names_share_no_word() {
    // Bits that survive in every kind: of uniform numbers the words themselves.
    let mut seen = std::collections::HashSet::new();
    for algorithm in FUNCTIONS {
        for path in [&[][..], &[0], &[1]] {
            let elements = Elements::new(algorithm, 7, path).unwrap();
            let mut out = [0u64; 100];
            elements.integers(0..=u64::MAX, 0, &mut out).unwrap();
            assert!(out.into_iter().all(|word| seen.insert(word)), "{algorithm}");
            let mut stream = Stream::new(algorithm, 7, path);
            assert!(
                (0..100).all(|_| seen.insert(stream.next_u64())),
                "{algorithm}"
            );
            let mut pairs = [0u32; 200];
            elements.integers(0..=u32::MAX, 0, &mut pairs).unwrap();
            let words = pairs
                .chunks(2)
                .map(|pair| u64::from(pair[1]) << 32 | u64::from(pair[0]));
            assert!(
                words.into_iter().all(|word| seen.insert(word)),
                "{algorithm}"
            );
            for kind in [
                Kind::Normal,
                Kind::Exponential,
                Kind::Shuffle,
                Kind::Permutation,
                Kind::LogNormal,
                Kind::Gamma,
                Kind::Halton,
            ] {
                let mut words = Words::new(&elements.blocks, kind, 0);
                assert!(
                    (0..20).all(|_| seen.insert(words.next_u64())),
                    "{algorithm}"
                );
                elements
                    .fill_from_words(kind.row(), 0, &mut [(); 100], |_, words, _| {
                        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
                        assert!(words.iter().all(|bytes| seen.insert(word(bytes))));
                    })
                    .unwrap();
            }
        }
    }
}

#[test]
fn words_of_neighbours_share_no_word() {
    let mut seen = std::collections::HashSet::new();
    for algorithm in FUNCTIONS {
        let elements = Elements::new(algorithm, 7, &[]).unwrap();
        for index in [0, 1, 2, 3, u64::MAX - 1, u64::MAX] {
            let mut words = Words::new(&elements.blocks, Kind::Normal, index);
            assert!(
                (0..50).all(|_| seen.insert(words.next_u64())),
                "{algorithm} {index}"
            );
        }
    }
}

#[test]
fn words_of_near_elements_are_the_same_words() {
    for algorithm in FUNCTIONS {
        let elements = Elements::new(algorithm, 7, &[]).unwrap();
        for (first, step) in [(0, 1), (5, 3), (1 << 40, 40), (u64::MAX - 99, 1)] {
            let mut out = [0; 100];
            let mut index = first;
            let draw = |words: &mut Words<'_>| {
                let is_asked = (index - first).is_multiple_of(step);
                index = index.wrapping_add(1);
                let last = if is_asked { 12 } else { 1 };
                (0..last).fold(0, |_, _| words.next_u64())
            };
            elements
                .fill_each::<8, _>(Kind::Gamma, first, &mut out, draw)
                .unwrap();
            for (place, index) in out.iter().zip(first..=u64::MAX).step_by(step as usize) {
                let mut words = Words::new(&elements.blocks, Kind::Gamma, index);
                // The head had one word.
                let own = (1..12).fold(0, |_, _| words.next_u64());
                assert_eq!(*place, own, "{algorithm} {index}");
            }
        }
    }
}

#[test]
fn an_array_ends_at_the_last_index() {
    for algorithm in FUNCTIONS {
        let elements = Elements::new(algorithm, 7, &[]).unwrap();
        let mut out = [0.0f64; 2];
        assert_eq!(elements.uniform(u64::MAX - 1, &mut out), Ok(()));
        assert_eq!(elements.uniform(u64::MAX, &mut out[..1]), Ok(()));
        assert_eq!(elements.uniform(u64::MAX, &mut out[..0]), Ok(()));
        let past = Err(ElementError::PastTheEnd);
        assert_eq!(elements.uniform(u64::MAX, &mut out), past);
        assert_eq!(elements.standard_normal(u64::MAX, &mut out), past);
        assert_eq!(elements.standard_exponential(u64::MAX, &mut out), past);
        assert_eq!(elements.integers(0..=1u8, u64::MAX, &mut [0; 2]), past);
    }
}

#[test]
fn an_engine_has_no_arrays() {
    for algorithm in Algorithm::ALL {
        let made = Elements::new(algorithm, 7, &[]);
        assert_eq!(made.is_ok(), algorithm.is_counter_based(), "{algorithm}");
        let made = Elements::from_words(algorithm, [1; 4]);
        assert_eq!(
            made.err(),
            (!algorithm.is_counter_based()).then_some(ElementError::NotCounterBased)
        );
    }
}

#[test]
fn elements_are_no_larger_than_documented() {
    assert!(size_of::<Elements>() <= 1200, "{}", size_of::<Elements>());
    assert_eq!(size_of::<Permutation>(), 120);
}

#[test]
fn debug_output_shows_the_name_and_no_key() {
    let elements = Elements::new(Algorithm::ChaCha8, 7, &[3, 0, 17]).unwrap();
    assert_eq!(
        format!("{elements:?}"),
        "Elements { algorithm: chacha8, seed: 7, path: 3/0/17 }"
    );
    let words = Elements::from_words(Algorithm::ChaCha8, [1, 2, 3, 4]).unwrap();
    assert_eq!(
        format!("{words:?}"),
        "Elements { algorithm: chacha8, words: .., path: / }"
    );
    assert_eq!(
        format!("{:?}", elements.permutation(9)),
        "Permutation { length: 9, .. }"
    );
}

#[test]
fn an_error_says_what_to_take_instead() {
    let message = format!("{}", ElementError::NotCounterBased);
    for algorithm in FUNCTIONS {
        assert!(message.contains(algorithm.name()), "{message}");
    }
}

#[test]
fn bytes_of_a_name_are_those_of_its_stream_also_over_its_end() {
    for algorithm in FUNCTIONS {
        let elements = Elements::new(algorithm, 7, &[1]).unwrap();
        let stream = Stream::new(algorithm, 7, &[1]);
        for first in [0, 1, 15, 16, 63, 64, 1000, u128::MAX - 300, u128::MAX] {
            for length in [0, 1, 7, 64, 65, 2000] {
                let (mut bytes, mut same) = (vec![1; length], vec![2; length]);
                elements.bytes(first, &mut bytes);
                stream.at(first).fill(&mut same);
                assert_eq!(bytes, same, "{algorithm} {first} {length}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn uniform_numbers_are_those_of_the_words_at_every_width(
        function in 0..FUNCTIONS.len(), first in 0..10_000u64, length in 0..9000usize, from_end: bool,
    ) {
        let first = if from_end { u64::MAX - length as u64 - first } else { first };
        let elements = Elements::new(FUNCTIONS[function], 7, &[1]).unwrap();
        let (mut words, mut short) = (vec![[1; 8]; length], vec![[1; 4]; length]);
        elements.bytes(8 * u128::from(first), words.as_flattened_mut());
        elements.bytes(4 * u128::from(first), short.as_flattened_mut());
        let doubles = words.into_iter().map(|word| (u64::from_le_bytes(word) >> 11) as f64 / 2f64.powi(53));
        let singles = short.into_iter().map(|word| (u32::from_le_bytes(word) >> 8) as f32 / 2f32.powi(24));
        let (doubles, singles): (Vec<f64>, Vec<f32>) = (doubles.collect(), singles.collect());
        for &width in Width::ALL.iter().filter(|width| width.is_available()) {
            let elements = elements.clone().with_width(width);
            let (mut wide, mut single) = (vec![9.0f64; length], vec![9.0f32; length]);
            elements.uniform(first, &mut wide).unwrap();
            elements.uniform(first, &mut single).unwrap();
            prop_assert!(wide == doubles, "{width}");
            prop_assert!(single == singles, "{width}");
        }
        let past = Err(ElementError::PastTheEnd);
        prop_assert_eq!(elements.uniform(u64::MAX, &mut [0f64; 2]), past);
        prop_assert_eq!(elements.uniform(u64::MAX, &mut [0f32; 2]), past);
    }
}
