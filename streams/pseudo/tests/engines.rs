//! The engines against other implementations of them.

use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use wellspring_pseudo::{Xorshift128Plus, Xoshiro256PlusPlus};

/// The edition of `xorshift128plus.c` that SPL took over: it adds after the step.
fn spl_next([x, y]: &mut [u64; 2]) -> u64 {
    let mut s1 = *x;
    let s0 = *y;
    *x = s0;
    s1 ^= s1 << 23;
    *y = s1 ^ s0 ^ (s1 >> 18) ^ (s0 >> 5);
    y.wrapping_add(s0)
}

fn seed_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn oracle(words: [u64; 4]) -> rand_xoshiro::Xoshiro256PlusPlus {
    rand_xoshiro::Xoshiro256PlusPlus::from_seed(seed_of(&words).try_into().unwrap())
}

fn non_zero<const N: usize>() -> impl Strategy<Value = [u64; N]> {
    any::<[u64; N]>().prop_filter("not a state", |words| *words != [0; N])
}

proptest! {
    #[test]
    fn xoshiro256plusplus_equals_rand_xoshiro(words in non_zero::<4>(), length in 0..100usize) {
        let mut generator = Xoshiro256PlusPlus::from_words(words).unwrap();
        let mut oracle = oracle(words);
        for round in 0..4 {
            prop_assert_eq!(generator.next_u64(), Rng::next_u64(&mut oracle));
            prop_assert_eq!(Rng::next_u32(&mut generator), Rng::next_u32(&mut oracle));
            let (mut filled, mut expected) = (vec![0; length], vec![0; length]);
            generator.fill(&mut filled);
            oracle.fill_bytes(&mut expected);
            prop_assert_eq!(filled, expected);
            if round % 2 == 0 {
                generator.jump();
                oracle.jump();
            } else {
                generator.long_jump();
                oracle.long_jump();
            }
        }
    }

    #[test]
    fn xoshiro256plusplus_is_seeded_as_in_rand_xoshiro(short in any::<u64>(), seed in any::<[u8; 32]>()) {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(short);
        let mut oracle = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(short);
        prop_assert_eq!(generator.next_u64(), Rng::next_u64(&mut oracle));
        let mut generator = Xoshiro256PlusPlus::from_seed(seed);
        let mut oracle = rand_xoshiro::Xoshiro256PlusPlus::from_seed(seed);
        prop_assert_eq!(generator.next_u64(), Rng::next_u64(&mut oracle));
    }

    #[test]
    fn xorshift128plus_is_one_word_behind_spl(words in non_zero::<2>()) {
        let mut generator = Xorshift128Plus::from_words(words).unwrap();
        let mut spl = words;
        generator.next_u64();
        for _ in 0..100 {
            prop_assert_eq!(generator.next_u64(), spl_next(&mut spl));
        }
    }

    #[test]
    fn a_state_given_back_continues(two in non_zero::<2>(), four in non_zero::<4>()) {
        let mut generator = Xorshift128Plus::from_words(two).unwrap();
        prop_assert_eq!(generator.words(), two);
        generator.next_u64();
        let mut restored = Xorshift128Plus::from_words(generator.words()).unwrap();
        prop_assert_eq!(generator.next_u64(), restored.next_u64());

        let mut generator = Xoshiro256PlusPlus::from_words(four).unwrap();
        prop_assert_eq!(generator.words(), four);
        generator.next_u64();
        let mut restored = Xoshiro256PlusPlus::from_words(generator.words()).unwrap();
        prop_assert_eq!(generator.next_u64(), restored.next_u64());
    }

    #[test]
    fn a_tail_takes_the_low_bytes_of_one_more_word(
        two in non_zero::<2>(),
        four in non_zero::<4>(),
        length in 0..40usize,
    ) {
        let mut generator = Xorshift128Plus::from_words(two).unwrap();
        let mut words = generator.clone();
        let mut filled = vec![0; length];
        generator.fill(&mut filled);
        let whole: Vec<u8> = (0..length.div_ceil(8))
            .flat_map(|_| words.next_u64().to_le_bytes())
            .collect();
        prop_assert_eq!(&filled[..], &whole[..length]);
        prop_assert_eq!(generator.next_u64(), words.next_u64());

        let mut generator = Xoshiro256PlusPlus::from_words(four).unwrap();
        let mut words = generator.clone();
        generator.fill(&mut filled);
        let whole: Vec<u8> = (0..length.div_ceil(8))
            .flat_map(|_| words.next_u64().to_le_bytes())
            .collect();
        prop_assert_eq!(&filled[..], &whole[..length]);
        prop_assert_eq!(generator.next_u64(), words.next_u64());
    }

    #[test]
    fn xorshift128plus_is_seeded_by_little_endian_words(words in non_zero::<2>()) {
        let seed = seed_of(&words).try_into().unwrap();
        prop_assert_eq!(Xorshift128Plus::from_seed(seed).words(), words);
    }
}

#[test]
fn no_generator_stands_still_at_zero() {
    assert!(Xorshift128Plus::from_words([0; 2]).is_none());
    assert!(Xoshiro256PlusPlus::from_words([0; 4]).is_none());
    for i in 0..2 {
        let mut words = [0; 2];
        words[i] = 1 << 63;
        assert!(Xorshift128Plus::from_words(words).is_some());
    }
    for i in 0..4 {
        let mut words = [0; 4];
        words[i] = 1;
        assert!(Xoshiro256PlusPlus::from_words(words).is_some());
    }
    assert_eq!(
        Xorshift128Plus::from_seed([0; 16]).words(),
        Xorshift128Plus::seed_from_u64(0).words()
    );
    assert_eq!(
        Xoshiro256PlusPlus::from_seed([0; 32]).words(),
        Xoshiro256PlusPlus::seed_from_u64(0).words()
    );
    assert_ne!(Xorshift128Plus::seed_from_u64(0).words(), [0; 2]);
}

#[test]
fn a_jump_commutes_with_a_step() {
    let mut stepped = Xorshift128Plus::seed_from_u64(1);
    let mut jumped = stepped.clone();
    stepped.next_u64();
    stepped.jump();
    jumped.jump();
    jumped.next_u64();
    assert_eq!(stepped.words(), jumped.words());
}

#[test]
fn a_generator_is_as_large_as_its_state() {
    assert_eq!(size_of::<Xorshift128Plus>(), 16);
    assert_eq!(size_of::<Xoshiro256PlusPlus>(), 32);
}

#[test]
fn debug_output_shows_no_state() {
    let xorshift = Xorshift128Plus::seed_from_u64(1);
    assert_eq!(format!("{xorshift:?}"), "Xorshift128Plus { .. }");
    let xoshiro = Xoshiro256PlusPlus::seed_from_u64(1);
    assert_eq!(format!("{xoshiro:?}"), "Xoshiro256PlusPlus { .. }");
}

#[test]
fn xorshift128plus_gives_the_numbers_that_pure_rand_records() {
    // The test suite of the JavaScript library pure-rand holds the low halves of what Vigna's C
    // file gives from this state, at its start and after a jump.
    let mut generator = Xorshift128Plus::from_words([!42, 42 << 32]).unwrap();
    let mut jumped = generator.clone();
    jumped.jump();
    for expected in [
        4_294_967_253,
        1_166_015_114,
        1_692_303_336,
        3_482_095_935,
        4_288_634_584,
        1_325_520_545,
        1_367_235_622,
        1_759_582_253,
    ] {
        assert_eq!(generator.next_u64() as u32, expected);
    }
    for expected in [
        2_971_276_074,
        3_466_165_198,
        456_875_496,
        2_879_848_137,
        4_162_428_146,
        2_513_269_982,
        2_277_233_661,
        2_163_024_882,
    ] {
        assert_eq!(jumped.next_u64() as u32, expected);
    }
}
