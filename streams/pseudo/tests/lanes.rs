//! Sixteen lanes against sixteen generators that know nothing of one another.

use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use wellspring_pseudo::{Width, Xoshiro256PlusPlus, Xoshiro256PlusPlusX16};

const LONGEST_BYTES: usize = 4200;

fn widths() -> Vec<Width> {
    let available = |width: &Width| width.is_available();
    Width::ALL.iter().copied().filter(available).collect()
}

/// The definition: generators a jump apart, taking turns.
fn turns(first: &Xoshiro256PlusPlus) -> impl Iterator<Item = u64> + use<> {
    let mut next = first.clone();
    let mut generators: Vec<Xoshiro256PlusPlus> = (0..16)
        .map(|_| {
            let generator = next.clone();
            next.jump();
            generator
        })
        .collect();
    (0..16).cycle().map(move |lane| generators[lane].next_u64())
}

fn bytes(words: impl Iterator<Item = u64>, length: usize) -> Vec<u8> {
    words.flat_map(u64::to_le_bytes).take(length).collect()
}

/// One way to read whole words.
#[derive(Clone, Debug)]
enum Read {
    Word,
    Fill(Width, usize),
}

fn reads() -> impl Strategy<Value = Vec<Read>> {
    let fill = |words| {
        let width = prop::sample::select(widths());
        (width, words).prop_map(|(width, words)| Read::Fill(width, words))
    };
    let read = prop_oneof![Just(Read::Word), fill(0..20usize), fill(0..100usize)];
    prop::collection::vec(read, 0..20)
}

#[test]
fn every_length_is_filled_alike_at_every_width() {
    let first = Xoshiro256PlusPlus::seed_from_u64(1);
    let lanes = Xoshiro256PlusPlusX16::jumping_from(&first);
    let words: Vec<u64> = turns(&first).take(LONGEST_BYTES / 8 + 2).collect();
    let expected = bytes(words.iter().copied(), LONGEST_BYTES);
    for width in widths() {
        for length in 0..=LONGEST_BYTES {
            let mut lanes = lanes.clone();
            // The rest is to stay as it is.
            let mut filled = [0x5a; LONGEST_BYTES + 1];
            lanes.fill_at(width, &mut filled[..length]);
            assert_eq!(filled[..length], expected[..length], "{width} {length}");
            assert!(filled[length..].iter().all(|&byte| byte == 0x5a));
            let next = words[length.div_ceil(8)];
            assert_eq!(
                lanes.next_u64(),
                next,
                "{width} {length}: the rest was not dropped"
            );
        }
    }
}

proptest! {
    #[test]
    fn words_do_not_depend_on_cuts_and_widths(seed in any::<u64>(), reads in reads()) {
        let first = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut lanes = Xoshiro256PlusPlusX16::jumping_from(&first);
        let mut read = Vec::new();
        for way in reads {
            match way {
                Read::Word => read.extend(lanes.next_u64().to_le_bytes()),
                Read::Fill(width, words) => {
                    let mut filled = vec![0; 8 * words];
                    lanes.fill_at(width, &mut filled);
                    read.extend(filled);
                }
            }
        }
        prop_assert_eq!(&read, &bytes(turns(&first), read.len()));
    }

    #[test]
    fn the_traits_read_the_same_words(seed in any::<u64>(), length in 0..600usize) {
        let first = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut lanes = Xoshiro256PlusPlusX16::jumping_from(&first);
        let mut turns = turns(&first);
        prop_assert_eq!(Rng::next_u64(&mut lanes), turns.next().unwrap());
        prop_assert_eq!(u64::from(Rng::next_u32(&mut lanes)), turns.next().unwrap() >> 32);
        let mut filled = vec![0; length];
        Rng::fill_bytes(&mut lanes, &mut filled);
        prop_assert_eq!(filled, bytes(turns, length));
    }
}

#[test]
fn lanes_are_as_large_as_documented() {
    assert_eq!(size_of::<Xoshiro256PlusPlusX16>(), 520);
}

#[test]
fn debug_output_shows_no_state() {
    let first = Xoshiro256PlusPlus::seed_from_u64(1);
    let lanes = Xoshiro256PlusPlusX16::jumping_from(&first);
    assert_eq!(format!("{lanes:?}"), "Xoshiro256PlusPlusX16 { .. }");
}

#[test]
fn lanes_seeded_one_after_the_other_share_no_word() {
    let mut seeder = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..100 {
        let mut lanes = Xoshiro256PlusPlusX16::seeded_by(&mut seeder);
        assert!((0..100).all(|_| seen.insert(lanes.next_u64())));
    }
    assert!((0..100).all(|_| seen.insert(seeder.next_u64())));
}
