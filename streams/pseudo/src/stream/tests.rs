use std::format;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use rand_core::Rng;

use super::*;
use crate::{Path, SeedSequence, Xorshift128Plus, Xoshiro256PlusPlus};

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

/// Where reads begin, with the interesting edges: of words, blocks, caches and of the stream.
fn positions() -> impl Strategy<Value = u128> {
    let edge = prop_oneof![
        Just(0),
        Just(512),
        Just(1 << 64),
        Just(1 << 68),
        Just(1 << 70)
    ];
    let near = (edge, 0..100u128).prop_map(|(edge, less)| u128::wrapping_sub(edge, less));
    prop_oneof![0..5000u128, near, any::<u128>()]
}

proptest! {
    #[test]
    fn bytes_from_a_position_are_those_of_the_whole(
        algorithm in algorithm(),
        position in 0..5000usize,
        length in 0..1300usize,
    ) {
        let stream = Stream::new(algorithm, 7, &[2]);
        let whole = bytes(&mut stream.clone(), position + length);
        let mut part = stream.at(position as u128);
        prop_assert_eq!(part.position(), position as u128);
        prop_assert_eq!(&bytes(&mut part, length)[..], &whole[position..]);
        prop_assert_eq!(part.position(), (position + length) as u128);
    }

    #[test]
    fn advancing_is_reading_without_looking(
        algorithm in algorithm(),
        start in positions(),
        first in 0..700usize,
        skipped in 0..700usize,
    ) {
        let mut stream = Stream::new(algorithm, 7, &[2]).at(start);
        let whole = bytes(&mut stream.clone(), first + skipped + 20);
        prop_assert_eq!(bytes(&mut stream, first), &whole[..first]);
        stream.advance(skipped as u128);
        prop_assert_eq!(bytes(&mut stream, 20), &whole[first + skipped..]);
    }

    #[test]
    fn reads_agree_anywhere(algorithm in algorithm(), start in positions(), reads in reads()) {
        let mut stream = Stream::new(algorithm, 7, &[]).at(start);
        let mut read = Vec::new();
        for way in reads {
            match way {
                Read::Fill(length) => read.extend(bytes(&mut stream, length)),
                Read::U32 => read.extend(stream.next_u32().to_le_bytes()),
                Read::U64 => read.extend(stream.next_u64().to_le_bytes()),
            }
        }
        let whole = bytes(&mut Stream::new(algorithm, 7, &[]).at(start), read.len());
        prop_assert_eq!(read, whole);
    }

    #[test]
    fn jumps_add_up_and_keep_the_position(
        algorithm in algorithm(),
        one in 0..1u64 << 62,
        two in 0..1u64 << 62,
        position in positions(),
    ) {
        let stream = Stream::new(algorithm, 7, &[]).at(position);
        let mut at_once = stream.jumped(one + two).unwrap();
        let mut by_steps = stream.jumped(one).unwrap().jumped(two).unwrap();
        prop_assert_eq!(at_once.jumps(), one + two);
        prop_assert_eq!(at_once.position(), position);
        prop_assert_eq!(bytes(&mut at_once, 100), bytes(&mut by_steps, 100));
        // Seeking does not lose the jumps.
        let mut again = at_once.at(position);
        at_once.seek(position);
        prop_assert_eq!(bytes(&mut at_once, 100), bytes(&mut again, 100));
    }
}

#[test]
fn after_its_last_byte_a_stream_starts_again() {
    for algorithm in Algorithm::ALL {
        let start = bytes(&mut Stream::new(algorithm, 7, &[]), 1000);
        for left in [0, 1, 3, 4, 7, 8, 63, 64, 300, 511, 512, 600] {
            let end = Stream::new(algorithm, 7, &[]).at(u128::wrapping_neg(left as u128));
            let read = bytes(&mut end.clone(), left + 300);
            assert_eq!(read[left..], start[..300], "{algorithm} {left}");
            let mut exactly = end.clone();
            bytes(&mut exactly, left);
            assert_eq!(exactly.position(), 0);
            assert_eq!(
                exactly.next_u64().to_le_bytes(),
                start[..8],
                "{algorithm} {left}"
            );
        }
    }
}

#[test]
fn reading_goes_on_where_the_count_of_64_bits_ends() {
    for algorithm in Algorithm::ALL {
        for (start, left) in [(0, 3), (5, 8), (1 << 100, 20), (100, 0), (7, 512)] {
            let mut stream = Stream::new(algorithm, 7, &[]).at(start);
            let mut same = stream.clone();
            // The state after a read of nearly 2^64 bytes.
            stream.end = start.wrapping_add(left);
            stream.left = left as u64;
            assert_eq!(stream.position(), start);
            assert_eq!(stream.next_u32(), same.next_u32(), "{algorithm} {left}");
            assert_eq!(stream.next_u64(), same.next_u64(), "{algorithm} {left}");
            let (ours, theirs) = (bytes(&mut stream, 700), bytes(&mut same, 700));
            assert_eq!(ours, theirs, "{algorithm} {left}");
            assert_eq!(stream.position(), same.position());
        }
    }
}

#[test]
fn a_jump_of_a_counter_is_a_distance_in_its_stream() {
    for (algorithm, block_bytes) in [
        (Algorithm::Aes256Ctr, 16),
        (Algorithm::ChaCha8, 64),
        (Algorithm::ChaCha12, 64),
        (Algorithm::ChaCha20, 64),
    ] {
        let stream = Stream::new(algorithm, 7, &[]);
        let mut jumped = stream.jumped(3).unwrap();
        let mut far = stream.at((3 << 64) * block_bytes);
        assert_eq!(bytes(&mut jumped, 100), bytes(&mut far, 100), "{algorithm}");
    }
    let mut engine = Xoshiro256PlusPlus::from_words(SeedSequence::new(7).generate_u64()).unwrap();
    engine.jump();
    engine.jump();
    let stream = Stream::new(Algorithm::Xoshiro256PlusPlus, 7, &[]);
    assert_eq!(stream.jumped(2).unwrap().next_u64(), engine.next_u64());
}

#[test]
fn more_than_2_to_the_63_jumps_are_refused() {
    for algorithm in Algorithm::ALL {
        let stream = Stream::new(algorithm, 7, &[]);
        let last = stream.jumped((1 << 63) - 1).unwrap();
        assert_eq!(last.jumped(1).err(), Some(TooManyJumps));
        assert_eq!(last.jumped(u64::MAX).err(), Some(TooManyJumps));
        assert_eq!(stream.jumped(1 << 63).err(), Some(TooManyJumps));
    }
}

#[test]
fn spawn_gives_the_children_every_time() {
    for algorithm in Algorithm::ALL {
        let parent = Stream::new(algorithm, 7, &[1]);
        for _ in 0..2 {
            let children = parent.spawn(3..6).map(|mut child| child.next_u64());
            let named = (3..6).map(|key| Stream::new(algorithm, 7, &[1, key]).next_u64());
            assert!(children.eq(named), "{algorithm}");
        }
    }
}

#[test]
fn words_of_a_seed_sequence_give_its_stream() {
    for algorithm in Algorithm::ALL {
        let words = MixedSeed::new(algorithm, 7, &[1]).words();
        let mut stream = Stream::from_words(algorithm, words);
        let mut named = Stream::new(algorithm, 7, &[1]);
        assert_eq!(bytes(&mut stream, 100), bytes(&mut named, 100));
        assert_eq!(
            bytes(&mut stream.at(1000), 9),
            bytes(&mut named.at(1000), 9)
        );
        let mut children: Vec<_> = [0, 1].map(|key| stream.child(key).next_u64()).into();
        children.dedup();
        assert_eq!(children.len(), 2, "{algorithm}");
    }
}

#[test]
fn debug_output_shows_the_name_and_no_key() {
    let mut stream = Stream::new(Algorithm::Xoshiro256PlusPlus, 12345, &[3]).child(17);
    stream.next_u32();
    assert_eq!(
        format!("{stream:?}"),
        "Stream { algorithm: xoshiro256++, seed: 12345, path: 3/17, jumps: 0, position: 4 }"
    );
    let words = Stream::from_words(Algorithm::ChaCha8, [0x1234_5678; 4]);
    assert_eq!(
        format!("{:?}", words.jumped(2).unwrap()),
        "Stream { algorithm: chacha8, words: .., path: /, jumps: 2, position: 0 }"
    );
    let deep = Stream::new(Algorithm::ChaCha8, 1, &[9; 32]).child(9);
    assert!(format!("{deep:?}").contains("path: of more than 32 numbers"));
    let path = [[9; 33].as_slice(), &[8]].concat();
    let mut same = Stream::new(Algorithm::ChaCha8, 1, &path);
    assert_eq!(deep.child(8).next_u64(), same.next_u64());
}

#[test]
fn a_stream_is_no_larger_than_documented() {
    assert!(size_of::<Stream>() <= 2048);
}

#[cfg(all(test, any(feature = "rand_core_09", feature = "rand_core_06")))]
mod older_traits {
    use super::*;
    use crate::Xoshiro256PlusPlusX16;
    use crate::insecure_for_tests::KnownRng;

    /// Asserts that an older trait gives the same words and bytes as the type's own methods.
    macro_rules! assert_same {
        ($version:ident, $generator:expr) => {{
            let (mut one, mut other) = ($generator, $generator);
            for _ in 0..50 {
                assert_eq!($version::RngCore::next_u64(&mut one), other.next_u64());
                let next_u32 = rand_core::Rng::next_u32(&mut other);
                assert_eq!($version::RngCore::next_u32(&mut one), next_u32);
                let mut bytes = [[0; 24]; 2];
                $version::RngCore::fill_bytes(&mut one, &mut bytes[0]);
                other.fill(&mut bytes[1]);
                assert_eq!(bytes[0], bytes[1]);
            }
        }};
    }

    macro_rules! assert_version {
        ($version:ident) => {
            for algorithm in Algorithm::ALL {
                assert_same!($version, Stream::new(algorithm, 7, &[1]));
            }
            let xoshiro = Xoshiro256PlusPlus::from_any_words([7; 4]);
            assert_same!($version, xoshiro.clone());
            assert_same!($version, Xoshiro256PlusPlusX16::jumping_from(&xoshiro));
            assert_same!($version, Xorshift128Plus::from_any_words([7; 2]));
            assert_same!($version, KnownRng::new(7));
            fn assert_is_crypto_rng<R: $version::CryptoRng>(_: R) {}
            assert_is_crypto_rng(KnownRng::new(7));
        };
    }

    #[test]
    #[cfg(feature = "rand_core_09")]
    fn every_generator_has_the_trait_of_rand_core_09() {
        assert_version!(rand_core_09);
    }

    #[test]
    #[cfg(feature = "rand_core_06")]
    fn every_generator_has_the_trait_of_rand_core_06() {
        assert_version!(rand_core_06);
    }
}
