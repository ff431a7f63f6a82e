use super::shuffle::{draw, positions_per_word};
use super::*;
use core::convert::Infallible;
use rand_core::TryRng;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Gives the same bytes in every run: no test here can fail by chance.
fn engine() -> crate::Engine {
    let builder = crate::Engine::builder().sources([]);
    builder
        .seed(b"a seed that has 32 bytes, always")
        .build()
        .unwrap()
}

/// Gives the numbers that a test wrote down, and no more.
struct Script<'a>(std::slice::Iter<'a, u64>);

impl TryRng for Script<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| u32::try_from(word).unwrap())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(*self.0.next().expect("more draws than were expected"))
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("numbers come from words")
    }
}

fn script(words: &[u64]) -> Script<'_> {
    Script(words.iter())
}

/// Pearson's statistic of counts that should be equal.
fn chi_square(counts: &[u32]) -> f64 {
    let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    let terms = counts
        .iter()
        .map(|&count| (f64::from(count) - mean).powi(2) / mean);
    terms.sum()
}

/// The limit that chi-square is below with probability 0.9999: the approximation of Wilson and Hilferty.
fn chi_square_limit(classes: usize) -> f64 {
    let freedom = (classes - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + 3.719 * spread.sqrt()).powi(3)
}

#[test]
fn words_that_would_favour_a_result_are_rejected_and_no_others() {
    // 2^64 % 6 = 4: the words with a low half below 4 are rejected, as 0 is (0) and (2^64 + 2) / 6 (2).
    let third = (u64::MAX / 6) + 1;
    assert_eq!(third.wrapping_mul(6), 2);
    assert_eq!(up_to_u64(&mut script(&[0, third, 7]), 5), 0);
    // A low half of 4 is the first that is not rejected.
    let fourth = u64::MAX / 3 + 1;
    assert_eq!(fourth.wrapping_mul(6), 4);
    assert_eq!(up_to_u64(&mut script(&[fourth]), 5), 2);
    assert_eq!(up_to_u64(&mut script(&[u64::MAX]), 5), 5);
    // A power of two divides 2^32, so that nothing is rejected.
    assert_eq!(up_to_u32(&mut script(&[0]), 7), 0);
    assert_eq!(up_to_u32(&mut script(&[u64::from(u32::MAX)]), 7), 7);
    // All words: no multiplication.
    assert_eq!(up_to_u64(&mut script(&[11]), u64::MAX), 11);
    assert_eq!(up_to_u32(&mut script(&[11]), u32::MAX), 11);
}

#[test]
fn a_number_above_64_bits_is_drawn_until_it_fits() {
    let last = 1u128 << 64;
    assert_eq!(up_to_u128(&mut script(&[1, 5, 0, 5]), last), 5);
    assert_eq!(up_to_u128(&mut script(&[1, 0]), last), last);
    assert_eq!(up_to_u128(&mut script(&[7, 9]), u128::MAX), 7 << 64 | 9);
    assert_eq!(up_to_u128(&mut script(&[u64::MAX]), 99), 99);
}

#[test]
fn every_result_of_a_small_count_is_equally_likely() {
    let mut rng = engine().rng();
    for count in [2usize, 3, 5, 6, 7, 10, 16, 100] {
        let draws = 1000 * count;
        let mut counts = vec![[0u32; 5]; count];
        for _ in 0..draws {
            counts[rng.below(count)][0] += 1;
            counts[rng.below(count as u32) as usize][1] += 1;
            counts[rng.below(count as u8) as usize][2] += 1;
            counts[rng.below(count as i128) as usize][3] += 1;
            counts[(rng.range(-50..count as i8 - 50) + 50) as usize][4] += 1;
        }
        for column in 0..5 {
            let column: Vec<u32> = counts.iter().map(|row| row[column]).collect();
            let found = chi_square(&column);
            assert!(
                found < chi_square_limit(count),
                "{count}: {found} of {column:?}"
            );
        }
    }
}

#[test]
fn a_count_that_a_remainder_would_bias_is_not_biased() {
    // With count = 3 * 2^30, `u32() % count` is below 2^30 in half of the draws, instead of in a third.
    let mut rng = engine().rng();
    let count = 3u32 << 30;
    let mut counts = [0; 3];
    for _ in 0..30_000 {
        counts[(rng.below(count) >> 30) as usize] += 1;
    }
    assert!(chi_square(&counts) < chi_square_limit(3), "{counts:?}");
}

macro_rules! assert_edges {
    ($($integer:ty)*) => {$(
        let rng = engine();
        let (min, max) = (<$integer>::MIN, <$integer>::MAX);
        let one: $integer = 1;
        assert_eq!(rng.below(one), 0);
        for edge in [min, max, 0] {
            assert_eq!(rng.range(edge..=edge), edge);
        }
        for _ in 0..100 {
            assert!(rng.below(max) < max);
            assert!(rng.range(min..max) < max);
            assert!(rng.range(max - 2..) >= max - 2);
            assert!(rng.range(..=min + 2) <= min + 2);
            let excluded = (Bound::Excluded(min), Bound::Excluded(min + 2));
            assert_eq!(rng.range(excluded), min + 1);
        }
        // The type's whole range: the lowest and the highest bit take both values.
        let all: HashSet<$integer> = (0..200).map(|_| rng.range(..)).collect();
        for bit in [0, <$integer>::BITS - 1] {
            let ones = all.iter().filter(|number| **number >> bit & 1 != 0).count();
            assert!(ones > 0 && ones < all.len());
        }
        for empty in [
            (Bound::Included(one), Bound::Excluded(one)),
            (Bound::Included(max), Bound::Included(min)),
            (Bound::Excluded(max), Bound::Unbounded),
            (Bound::Unbounded, Bound::Excluded(min)),
        ] {
            assert!(catch_unwind(AssertUnwindSafe(|| rng.range(empty))).is_err(), "{empty:?}");
        }
        assert!(catch_unwind(AssertUnwindSafe(|| rng.below(one - 1))).is_err());
    )*};
}

#[test]
fn edges_of_every_type_are_reached_and_not_passed() {
    assert_edges!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize u128 i128);
}

#[test]
#[should_panic(expected = "below(n) needs an n of 1 or more")]
fn below_zero_says_what_it_needs() {
    let _ = crate::below(0u64);
}

#[test]
#[should_panic(expected = "below(n) needs an n of 1 or more")]
fn below_a_negative_number_says_what_it_needs() {
    let _ = crate::below(-1);
}

#[test]
#[should_panic(
    expected = "range(..) needs a range with at least one integer in it, not from Included(2) to Excluded(1)"
)]
#[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
fn an_empty_range_says_what_it_needs() {
    let _ = crate::range(2..1);
}

#[test]
fn every_choice_of_several_in_every_order_is_equally_likely() {
    let rng = engine();
    let mut counts = std::collections::HashMap::new();
    for _ in 0..12_000 {
        let chosen: [u8; 3] = <[&u8; 3]>::try_from(rng.choose_multiple(&[1, 2, 3, 4, 5], 3))
            .unwrap()
            .map(|&number| number);
        *counts.entry(chosen).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 60);
    let counts: Vec<_> = counts.into_values().collect();
    assert!(chi_square(&counts) < chi_square_limit(60), "{counts:?}");

    for length in 0..50 {
        let slice: Vec<_> = (0..length).collect();
        for count in [0, 1, length / 2, length, length + 7] {
            let chosen = rng.choose_multiple(&slice, count);
            let different: HashSet<_> = chosen.iter().copied().collect();
            assert_eq!(chosen.len(), count.min(length));
            assert_eq!(different.len(), chosen.len());
        }
    }
}

#[test]
fn a_weighted_choice_follows_its_weights() {
    // A third of the words each give 0, 1 and 2. Word 0 is the one too many.
    for (word, chosen) in [(1, 'b'), (u64::MAX / 3 + 1, 'd'), (u64::MAX, 'd')] {
        let letters = ['a', 'b', 'c', 'd'];
        let drawn = choose_weighted(&mut script(&[word]), &letters, &[0, 1, 0, 2]);
        assert_eq!(drawn, Some(&chosen), "{word:x}");
    }
    let rng = engine();
    assert_eq!(rng.choose_weighted(&["a", "b"], &[0, 0]), None);
    assert_eq!(rng.choose_weighted::<&str>(&[], &[]), None);
    assert_eq!(rng.choose_weighted(&["a", "b"], &[0, u64::MAX]), Some(&"b"));
    for (weights, message) in [
        (
            [1, u64::MAX].as_slice(),
            "the sum of the weights is below 2^64",
        ),
        (&[1], "2 elements have 1 weights"),
    ] {
        let drawn = catch_unwind(AssertUnwindSafe(|| {
            rng.choose_weighted(&["a", "b"], weights).copied()
        }));
        let panic = drawn.unwrap_err();
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        assert!(text.is_some_and(|text| text.contains(message)), "{text:?}");
    }
}

#[test]
fn every_letter_and_digit_of_a_text_is_equally_likely() {
    let rng = engine();
    let mut counts = std::collections::HashMap::new();
    for _ in 0..100 {
        for character in rng.alphanumeric::<310>().chars() {
            assert!(character.is_ascii_alphanumeric());
            *counts.entry(character).or_insert(0) += 1;
        }
    }
    assert_eq!(counts.len(), 62);
    let counts: Vec<_> = counts.into_values().collect();
    assert!(chi_square(&counts) < chi_square_limit(62), "{counts:?}");
    assert_eq!(rng.alphanumeric::<0>().len(), 0);
}

#[test]
fn memory_without_a_value_is_filled_and_returned() {
    let mut bytes = Vec::with_capacity(1000);
    let room = bytes.spare_capacity_mut();
    let (address, length) = (room.as_ptr().addr(), room.len());
    let filled = crate::fill_uninit(room);
    assert_eq!((filled.as_ptr().addr(), filled.len()), (address, length));
    assert!(
        filled
            .as_chunks::<16>()
            .0
            .iter()
            .all(|chunk| *chunk != [0; 16])
    );
    bytes.push(0u8);
}

#[test]
fn a_fraction_has_53_bits_and_never_is_1() {
    assert_eq!(f64(&mut script(&[0])), 0.0);
    assert_eq!(f64(&mut script(&[u64::MAX])), 1.0 - f64::EPSILON / 2.0);
    assert_eq!(f64(&mut script(&[1 << 11])), f64::EPSILON / 2.0);
    let rng = engine();
    let mut tenths = [0; 10];
    for _ in 0..10_000 {
        tenths[(rng.f64() * 10.0) as usize] += 1;
    }
    assert!(chi_square(&tenths) < chi_square_limit(10), "{tenths:?}");
}

#[test]
fn both_truth_values_and_all_bits_of_short_words_are_equally_likely() {
    let rng = engine();
    let mut truths = [0; 2];
    let mut ones = [0u32; 16];
    for _ in 0..10_000 {
        truths[usize::from(rng.bool())] += 1;
        let word = rng.u16();
        (0..16).for_each(|bit| ones[bit] += u32::from(word >> bit & 1));
    }
    assert!(chi_square(&truths) < chi_square_limit(2), "{truths:?}");
    for ones in ones {
        assert!(
            chi_square(&[ones, 10_000 - ones]) < chi_square_limit(2),
            "{ones}"
        );
    }
}

#[test]
fn a_shuffle_reaches_all_24_orders_of_4_equally() {
    let mut rng = engine().rng();
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..24_000 {
        let mut order = [0u8, 1, 2, 3];
        rng.shuffle(&mut order);
        *counts.entry(order).or_insert(0) += 1;
    }
    let counts: Vec<u32> = counts.into_values().collect();
    assert_eq!(counts.len(), 24);
    assert!(chi_square(&counts) < chi_square_limit(24), "{counts:?}");
}

#[test]
fn a_word_that_would_favour_an_order_is_rejected_and_no_other() {
    // 2^64 % 6 = 4: of the words, those with a last low half below 4 are rejected.
    assert_eq!(draw(&mut script(&[0, u64::MAX]), 3), [2, 1]);
    // One more than a sixth of 2^64 has a last low half of 2, the word after it of 8.
    let sixth = u64::MAX / 6 + 1;
    assert_eq!(sixth.wrapping_mul(6), 2);
    assert_eq!(draw(&mut script(&[sixth, u64::MAX]), 3), [2, 1]);
    assert_eq!(draw(&mut script(&[sixth + 1]), 3), [0, 1]);
    // A low half of 4 is the first that is not rejected.
    let third = u64::MAX / 3 + 1;
    assert_eq!(third.wrapping_mul(6), 4);
    assert_eq!(draw(&mut script(&[third]), 3), [1, 0]);
}

/// The word in the middle of the share of each combination gives that combination, the last position counted first.
fn check_shares<const N: usize>(left: usize) {
    let product: u64 = (0..N).map(|step| (left - step) as u64).product();
    for i in (0..product).step_by(1 + product as usize / 5000) {
        let middle = ((u128::from(i) * 2 + 1) << 63) / u128::from(product);
        let found: [usize; N] = draw(&mut script(&[middle as u64]), left);
        let mut rest = i;
        for step in (0..N).rev() {
            let count = (left - step) as u64;
            assert_eq!(found[step] as u64, rest % count, "{left}, {i}, {step}");
            rest /= count;
        }
    }
}

#[test]
fn each_combination_of_positions_has_the_same_share_of_the_words() {
    check_shares::<2>(3);
    check_shares::<6>(7);
    check_shares::<5>(12);
    check_shares::<3>(40);
}

#[test]
fn the_positions_of_a_word_leave_seven_bits_to_spare() {
    for bits in 1..=28 {
        let largest = (1u64 << bits) - 1;
        let positions = positions_per_word(largest as usize) as u32;
        assert!(largest.pow(positions) < 1 << 57, "{bits} bits");
    }
}

#[test]
fn a_shuffle_loses_nothing_and_short_slices_draw_nothing() {
    let mut numbers: Vec<u32> = (0..1000).collect();
    engine().shuffle(&mut numbers);
    assert!(!numbers.is_sorted());
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..1000));
    shuffle(&mut script(&[]), &mut [] as &mut [u8]);
    shuffle(&mut script(&[]), &mut [1]);
}

#[test]
fn a_choice_is_any_element_or_none() {
    let rng = engine();
    assert_eq!(choose(&mut script(&[]), &[] as &[u8]), None);
    let mut counts = [0; 5];
    for _ in 0..5000 {
        counts[*rng.choose(&[0, 1, 2, 3, 4usize]).unwrap()] += 1;
    }
    assert!(chi_square(&counts) < chi_square_limit(5), "{counts:?}");
}

#[test]
fn all_generators_have_the_same_methods_beside_those_of_rand() {
    use crate::LocalRng;
    use rand::RngExt as _;
    macro_rules! assert_methods {
        ($($rng:expr),*) => {$(
            let mut rng = $rng;
            let _ = (rng.u16(), rng.u32(), rng.u64(), rng.bool());
            assert!((0.0..1.0).contains(&rng.f64()));
            assert!(rng.below(3) < 3 && (1..=6).contains(&rng.range(1..=6)));
            rng.shuffle(&mut [1, 2, 3]);
            assert!(rng.choose(&[1, 2]).is_some());
            let _: u16 = rng.random();
            assert!(rng.random_range(1..=6) < 7);
            let _: bool = rng.random_bool(0.5);
        )*};
    }
    let engine = engine();
    assert_methods!(engine.rng(), LocalRng::default(), engine, crate::rng());
    assert!(crate::below(3) < 3 && (1..=6).contains(&crate::range(1..=6)));
}
