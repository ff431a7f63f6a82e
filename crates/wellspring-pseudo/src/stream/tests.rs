extern crate std;
use std::format;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use rand_core::Rng;

use super::*;
use crate::Path;

fn bytes(stream: &mut Stream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.fill(&mut bytes);
    bytes
}

/// One way to read from a stream.
#[derive(Clone, Debug)]
enum Read {
    Fill(usize),
    U32,
    U64,
}

fn reads() -> impl Strategy<Value = Vec<Read>> {
    let read = prop_oneof![
        (0..40usize).prop_map(Read::Fill),
        (100..600usize).prop_map(Read::Fill),
        Just(Read::U32),
        Just(Read::U64),
    ];
    prop::collection::vec(read, 0..60)
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(Algorithm::ALL.to_vec())
}

proptest! {
    #[test]
    fn bytes_do_not_depend_on_how_they_are_read(
        algorithm in algorithm(),
        seed in any::<u128>(),
        reads in reads(),
    ) {
        let mut stream = Stream::new(algorithm, seed, &[1]);
        let mut read = Vec::new();
        for way in reads {
            match way {
                Read::Fill(length) => read.extend(bytes(&mut stream, length)),
                Read::U32 => read.extend(stream.next_u32().to_le_bytes()),
                Read::U64 => read.extend(stream.next_u64().to_le_bytes()),
            }
        }
        let whole = bytes(&mut Stream::new(algorithm, seed, &[1]), read.len());
        prop_assert_eq!(read, whole);
    }

    #[test]
    fn the_traits_read_the_same_bytes(algorithm in algorithm(), reads in reads()) {
        let mut stream = Stream::new(algorithm, 7, &[]);
        let mut same: &mut dyn Rng = &mut stream.clone();
        for way in reads {
            match way {
                Read::Fill(length) => {
                    let mut through_trait = vec![0; length];
                    same.fill_bytes(&mut through_trait);
                    prop_assert_eq!(bytes(&mut stream, length), through_trait);
                }
                Read::U32 => prop_assert_eq!(stream.next_u32(), Rng::next_u32(&mut same)),
                Read::U64 => prop_assert_eq!(stream.next_u64(), Rng::next_u64(&mut same)),
            }
        }
    }

    #[test]
    fn a_child_is_the_stream_of_the_longer_path(
        algorithm in algorithm(),
        seed in any::<u128>(),
        path in prop::collection::vec(any::<u32>(), 0..8),
        key in any::<u32>(),
        already_read in 0..20usize,
    ) {
        let mut parent = Stream::new(algorithm, seed, &path);
        bytes(&mut parent, already_read);
        let mut child = parent.child(key);
        let mut longer = path;
        longer.push(key);
        let mut named = Stream::new(algorithm, seed, &longer);
        prop_assert_eq!(bytes(&mut child, 50), bytes(&mut named, 50));
    }

    #[test]
    fn a_stream_is_the_engine_that_its_name_seeds(seed in any::<u128>(), key in any::<u32>()) {
        let name = SeedSequence::new(seed).child(key);
        let mut xoshiro = Xoshiro256PlusPlus::from_words(name.generate_u64()).unwrap();
        let mut xorshift = Xorshift128Plus::from_words(name.generate_u64()).unwrap();
        let mut stream = Stream::new(Algorithm::Xoshiro256PlusPlus, seed, &[key]);
        prop_assert_eq!(stream.next_u64(), xoshiro.next_u64());
        let mut stream = Stream::new(Algorithm::Xorshift128Plus, seed, &[key]);
        prop_assert_eq!(stream.next_u64(), xorshift.next_u64());
        let mut lane_1 = Xoshiro256PlusPlus::from_words(name.generate_u64()).unwrap();
        lane_1.jump();
        let mut stream = Stream::new(Algorithm::Xoshiro256PlusPlusX16, seed, &[key]);
        stream.next_u64();
        prop_assert_eq!(stream.next_u64(), lane_1.next_u64());
    }
}

#[test]
fn different_names_give_different_streams() {
    let names: [(u128, &[u32]); 9] = [
        (5, &[]),
        (5, &[0]),
        (5, &[0, 0]),
        (5, &[1]),
        (5, &[1, 0]),
        (5, &[0, 1]),
        (1 << 32 | 5, &[]),
        (1 << 127 | 5, &[]),
        (1 << 127 | 5, &[0]),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for algorithm in Algorithm::ALL {
        for (seed, path) in names {
            let first = bytes(&mut Stream::new(algorithm, seed, path), 16);
            assert!(seen.insert(first), "{algorithm} {seed} {path:?}");
        }
    }
}

#[test]
fn a_path_names_the_stream_that_its_elements_name() {
    let path: Path = "3/0/17".parse().unwrap();
    let mut by_path = Stream::new(Algorithm::Xorshift128Plus, 1, &path);
    let mut by_elements = Stream::new(Algorithm::Xorshift128Plus, 1, &[3, 0, 17]);
    assert_eq!(by_path.next_u64(), by_elements.next_u64());
}

#[test]
fn an_algorithm_is_read_back_from_its_name_only() {
    for algorithm in Algorithm::ALL {
        assert_eq!(format!("{algorithm}").parse(), Ok(algorithm));
    }
    for text in [
        "",
        "xoshiro256+",
        "XOSHIRO256++",
        "xoshiro256++ ",
        "xoshiro256++x8",
        "aes256",
    ] {
        assert_eq!(text.parse::<Algorithm>(), Err(UnknownAlgorithm), "{text:?}");
    }
}

#[test]
fn debug_output_shows_no_state() {
    let stream = Stream::new(Algorithm::Xoshiro256PlusPlus, 1, &[]);
    assert_eq!(
        format!("{stream:?}"),
        "Stream { algorithm: Xoshiro256PlusPlus, .. }"
    );
}

#[test]
fn a_stream_is_no_larger_than_documented() {
    assert!(size_of::<Stream>() <= 576);
}
