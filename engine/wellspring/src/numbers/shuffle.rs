//! A random order: several positions from one word.

use rand_core::Rng;

/// Returns how many positions below `count` one word gives: their product has 57 bits at most, so that fewer than one
/// word in 128 is looked at twice. Above 2^28 it is one.
pub(super) fn positions_per_word(count: usize) -> usize {
    match usize::BITS - count.leading_zeros() {
        0..=9 => 6,
        10..=11 => 5,
        12..=14 => 4,
        15..=19 => 3,
        20..=28 => 2,
        _ => 1,
    }
}

/// The method of Fisher and Yates, from the end.
pub fn shuffle<T>(rng: &mut impl Rng, slice: &mut [T]) {
    let mut left = slice.len();
    while left > 1 {
        left = match positions_per_word(left).min(left - 1) {
            6 => place::<6, T>(rng, slice, left),
            5 => place::<5, T>(rng, slice, left),
            4 => place::<4, T>(rng, slice, left),
            3 => place::<3, T>(rng, slice, left),
            2 => place::<2, T>(rng, slice, left),
            _ => place::<1, T>(rng, slice, left),
        };
    }
}

/// Places the last `N` of the first `left` elements. Returns how many are left.
#[inline]
fn place<const N: usize, T>(rng: &mut impl Rng, slice: &mut [T], left: usize) -> usize {
    for (step, position) in draw::<N>(rng, left).into_iter().enumerate() {
        slice.swap(left - 1 - step, position);
    }
    left - N
}

/// Draws `N` positions: one below `left`, one below `left - 1`, and so on. All combinations are equally likely.
///
/// The method of Brackett-Rozinsky and Lemire, "Batched Ranged Random Integer Generation" (Software: Practice and
/// Experience, 2024). The low half of each product is the word for the next position. `2^64 % product` words are
/// rejected, where `product` is the number of combinations: those with the smallest last low halves.
#[inline]
pub(super) fn draw<const N: usize>(rng: &mut impl Rng, left: usize) -> [usize; N] {
    let product: u64 = (0..N).map(|step| (left - step) as u64).product();
    loop {
        let mut word = rng.next_u64();
        let positions = core::array::from_fn(|step| {
            let wide = u128::from(word) * (left - step) as u128;
            word = wide as u64;
            (wide >> 64) as usize
        });
        if word >= product || word >= product.wrapping_neg() % product {
            return positions;
        }
    }
}
