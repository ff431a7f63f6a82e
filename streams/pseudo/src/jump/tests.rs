//! The constants of the jumps, computed a second time: the characteristic polynomial of each
//! generator follows from its bits, is primitive, and the constants are powers of x modulo it.

use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::{xorshift128plus, xoshiro256plusplus};

/// The primes of 2^128 - 1, a product of the Fermat numbers F0 to F6.
const PRIMES_128: [u128; 9] = [
    3,
    5,
    17,
    257,
    65_537,
    641,
    6_700_417,
    274_177,
    67_280_421_310_721,
];
/// The two primes of F7 = 2^128 + 1, which 2^256 - 1 has in addition.
const PRIMES_F7: [u128; 2] = [59_649_589_127_497_217, 5_704_689_200_685_129_054_721];

/// x^(2^doublings)
fn x_to_power_of_two<const N: usize>(modulus: &Modulus<N>, doublings: usize) -> [u64; N] {
    (0..doublings).fold(Modulus::<N>::X, |power, _| modulus.times(power, power))
}

/// Whether x has the order 2^(64 N) - 1, whose primes are given: then the generator visits all
/// states but zero in a single cycle.
fn is_primitive<const N: usize>(modulus: &Modulus<N>, primes: &[u128]) -> bool {
    let power_without = |left_out: Option<u128>| {
        primes
            .iter()
            .filter(|&&prime| Some(prime) != left_out)
            .fold(Modulus::<N>::X, |power, &prime| modulus.power(power, prime))
    };
    power_without(None) == Modulus::<N>::ONE
        && primes
            .iter()
            .all(|&prime| power_without(Some(prime)) != Modulus::<N>::ONE)
}

/// The characteristic polynomial of a step, by Berlekamp and Massey over the lowest bit of the first
/// word of the state (not of the output, which is scrambled).
fn characteristic<const N: usize>(step: impl Fn([u64; N]) -> [u64; N]) -> Modulus<N> {
    let mut state = core::array::from_fn(|i| 0x9e37_79b9_7f4a_7c15 << i);
    let bits: Vec<bool> = (0..2 * 64 * N)
        .map(|_| {
            let bit = state[0] & 1 == 1;
            state = step(state);
            bit
        })
        .collect();

    let mut connection = vec_with_one(bits.len());
    let mut previous = connection.clone();
    let mut length = 0;
    let mut since = 1;
    for n in 0..bits.len() {
        let discrepancy = (0..=length)
            .filter(|&i| connection[i] && bits[n - i])
            .count()
            % 2;
        if discrepancy == 0 {
            since += 1;
            continue;
        }
        let before = connection.clone();
        for i in since..connection.len() {
            connection[i] ^= previous[i - since];
        }
        if 2 * length <= n {
            length = n + 1 - length;
            previous = before;
            since = 1;
        } else {
            since += 1;
        }
    }
    assert_eq!(length, 64 * N, "the bit does not determine the state");

    // The characteristic polynomial is the connection polynomial backwards.
    let mut tail = [0; N];
    for i in 0..length {
        tail[i / 64] |= u64::from(connection[length - i]) << (i % 64);
    }
    Modulus { tail }
}

fn vec_with_one(length: usize) -> Vec<bool> {
    (0..length).map(|i| i == 0).collect()
}

#[test]
fn the_characteristic_polynomials_are_those_of_the_steps() {
    assert_eq!(
        characteristic(xorshift128plus::step).tail,
        xorshift128plus::MODULUS.tail
    );
    assert_eq!(
        characteristic(xoshiro256plusplus::step).tail,
        xoshiro256plusplus::MODULUS.tail
    );
}

#[test]
fn the_jump_of_xorshift128plus_is_2_to_the_64() {
    let modulus = characteristic(xorshift128plus::step);
    assert_eq!(x_to_power_of_two(&modulus, 64), xorshift128plus::JUMP);
}

#[test]
fn the_jumps_of_xoshiro256plusplus_are_2_to_the_128_and_192() {
    let modulus = characteristic(xoshiro256plusplus::step);
    assert_eq!(x_to_power_of_two(&modulus, 128), xoshiro256plusplus::JUMP);
    assert_eq!(
        x_to_power_of_two(&modulus, 192),
        xoshiro256plusplus::LONG_JUMP
    );
}

#[test]
fn the_period_is_all_states_but_zero() {
    let modulus = characteristic(xorshift128plus::step);
    assert_eq!(x_to_power_of_two(&modulus, 128), Modulus::<2>::X);
    assert!(is_primitive(&modulus, &PRIMES_128));

    let modulus = characteristic(xoshiro256plusplus::step);
    assert_eq!(x_to_power_of_two(&modulus, 256), Modulus::<4>::X);
    assert!(is_primitive(
        &modulus,
        &[&PRIMES_128[..], &PRIMES_F7].concat()
    ));
}

#[test]
fn the_primes_multiply_to_the_number_of_states() {
    let product = PRIMES_128.iter().product::<u128>();
    assert_eq!(product, u128::MAX);
    // 2^128 + 1 does not fit. The product is 1 modulo 2^128, and it lies between 2^127 and 2^129,
    // where 2^128 + 1 is the only such number.
    assert_eq!(PRIMES_F7[0].wrapping_mul(PRIMES_F7[1]), 1);
    assert_eq!(PRIMES_F7.map(u128::ilog2), [55, 72]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_jump_by_n_is_n_steps(
        two in any::<[u64; 2]>(),
        four in any::<[u64; 4]>(),
        steps in 0..3000u128,
    ) {
        let modulus = characteristic(xorshift128plus::step);
        let polynomial = modulus.power(Modulus::<2>::X, steps);
        prop_assert_eq!(polynomial, modulus.power_of_x(steps));
        let plain = (0..steps).fold(two, |state, _| xorshift128plus::step(state));
        prop_assert_eq!(ahead(two, &polynomial, xorshift128plus::step), plain);

        let modulus = characteristic(xoshiro256plusplus::step);
        let polynomial = modulus.power(Modulus::<4>::X, steps);
        prop_assert_eq!(polynomial, modulus.power_of_x(steps));
        let plain = (0..steps).fold(four, |state, _| xoshiro256plusplus::step(state));
        prop_assert_eq!(ahead(four, &polynomial, xoshiro256plusplus::step), plain);
    }
}
