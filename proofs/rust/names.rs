//! P10, names: two seeds, or two last numbers of a path, never have one name.
//!
//! A pool of words is read backwards, to the seed of a name without a path, and to the last number of a path: what can
//! be read backwards is made of one thing alone. That it can rests on the factors, which are odd, and on steps
//! that change one word by others; main() does it for 40000 names, and for the texts of all paths of some numbers.

#[path = "source.rs"]
mod name;

use name::{PathError, PooledSeedSequence};
use std::collections::BTreeSet;

fn claim(holds: bool, what: &str) {
    if !holds {
        println!("{what}");
        std::process::exit(10);
    }
}

/// Reads one function backwards: only odd factors have an inverse.
fn inverse(factor: u32) -> u32 {
    claim(factor & 1 == 1, "a factor is odd, so no two words become one");
    (0..5).fold(factor, |x, _| x.wrapping_mul(2u32.wrapping_sub(factor.wrapping_mul(x))))
}

fn unshift(word: u32) -> u32 {
    word ^ word >> 16
}

/// The word that name.rs hashed with this multiplier.
fn unhash(image: u32, multiplier: u32, factor: u32) -> u32 {
    unshift(image).wrapping_mul(inverse(multiplier.wrapping_mul(factor))) ^ multiplier
}

/// The left word that was mixed with this right one, and the right word that was mixed with this left one.
fn unmix_left(image: u32, right: u32) -> u32 {
    unshift(image).wrapping_add(right.wrapping_mul(name::MIX_RIGHT)).wrapping_mul(inverse(name::MIX_LEFT))
}

fn unmix_right(image: u32, left: u32) -> u32 {
    left.wrapping_mul(name::MIX_LEFT).wrapping_sub(unshift(image)).wrapping_mul(inverse(name::MIX_RIGHT))
}

/// The seed of a name without a path, from its pool.
fn seed<const N: usize>(root: &PooledSeedSequence<N>) -> Option<u128> {
    let mut pool = root.pool;
    let multipliers: Vec<u32> =
        std::iter::successors(Some(name::INPUT_MULTIPLIER), |m| Some(m.wrapping_mul(name::INPUT_FACTOR)))
            .take(N + N * (N - 1)).collect();
    let mut step = multipliers.len();
    for pair in (0..N * N).rev() {
        let (from, to) = (pair / N, pair % N);
        if from != to {
            step -= 1;
            let multiplier = multipliers[step];
            let hashed = name::hash(pool[from], &mut { multiplier }, name::INPUT_FACTOR);
            pool[to] = unmix_left(pool[to], hashed);
        }
    }
    for i in 0..N {
        pool[i] = unhash(pool[i], multipliers[i], name::INPUT_FACTOR);
    }
    let is_seed = pool[4..].iter().all(|&word| word == 0);
    is_seed.then(|| (0..4).fold(0, |seed, i| seed | u128::from(pool[i]) << (32 * i)))
}

/// The last number of a path, from the pools of a name and of its parent: any one word of them has it.
fn last<const N: usize>(parent: &PooledSeedSequence<N>, child: &PooledSeedSequence<N>, word: usize) -> u32 {
    let mut multiplier = parent.multiplier;
    for _ in 0..word {
        multiplier = multiplier.wrapping_mul(name::INPUT_FACTOR);
    }
    unhash(unmix_right(child.pool[word], parent.pool[word]), multiplier, name::INPUT_FACTOR)
}

fn names_are_read_backwards<const N: usize>() {
    let mut number = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
    for round in 0..20_000u32 {
        number = number.wrapping_mul(0xda94_2042_e4dd_58b5).rotate_left(67).wrapping_add(1);
        let given = if round < 256 { (1u128 << (round % 128)).wrapping_sub(u128::from(round / 128)) } else { number };
        let root = PooledSeedSequence::<N>::new(given);
        claim(seed(&root) == Some(given), "a pool has its seed: two seeds have two names");
        let key = [0, 1, u32::MAX, number as u32][round as usize % 4];
        let child = root.child(round).child(key);
        for word in 0..N {
            claim(last(&root.child(round), &child, word) == key, "a pool has its last number: two numbers, two names");
        }
    }
}

/// Each text of a path is read back: two paths have two texts.
fn texts_are_read_back() -> usize {
    let numbers = [0, 1, 9, 10, 11, 99, 100, 110, 4_294_967_295];
    let mut texts = BTreeSet::new();
    let mut paths: Vec<Vec<u32>> = vec![Vec::new()];
    let mut count = 0;
    for _ in 0..=4 {
        for path in &paths {
            let path = name::Path::new(path).unwrap();
            claim(path.to_string().parse::<name::Path>() == Ok::<_, PathError>(path.clone()), "a path is read back");
            texts.insert(path.to_string());
            count += 1;
        }
        paths = paths.iter().flat_map(|path| numbers.iter().map(move |&number| [&path[..], &[number]].concat())).collect();
    }
    claim(texts.len() == count, "two paths have two texts");
    count
}

fn main() {
    names_are_read_backwards::<4>();
    names_are_read_backwards::<8>();
    let texts = texts_are_read_back();
    println!("40000 names and {texts} texts hold");
}
