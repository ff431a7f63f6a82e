//! Streams of neighbouring names beside each other: interleaved, subtracted, and one bit of the name
//! apart.

use std::collections::HashSet;

use crate::common::statistics::Cells;
use wellspring_pseudo::{Algorithm, Elements, Stream};

/// The common part of the names, and a function that returns stream i.
type Family = (&'static str, fn(Algorithm, u32) -> Stream);

/// Names that differ as little as names do.
const FAMILIES: [Family; 5] = [
    ("consecutive paths", |algorithm, i| {
        Stream::new(algorithm, 2026, &[i])
    }),
    ("consecutive seeds", |algorithm, i| {
        Stream::new(algorithm, i.into(), &[])
    }),
    ("second elements", |algorithm, i| {
        Stream::new(algorithm, 0, &[0, i])
    }),
    ("grandchildren", |algorithm, i| {
        Stream::new(algorithm, 2026, &[i / 100, i % 100])
    }),
    ("jumps", |algorithm, i| {
        // Only a few: an engine computes its jump anew for each.
        Stream::new(algorithm, 2026, &[i / 16])
            .jumped(u64::from(i % 16))
            .unwrap()
    }),
];

/// The words of `count` streams in turn, `rounds` of each.
fn interleaved(streams: &mut [Stream], rounds: usize) -> Vec<u64> {
    let mut words = Vec::with_capacity(streams.len() * rounds);
    for _ in 0..rounds {
        words.extend(streams.iter_mut().map(Stream::next_u64));
    }
    words
}

/// Bits, bytes, pairs of neighbours and repetitions of a sequence of words.
fn assert_random(words: &[u64], what: &str) {
    let distinct: HashSet<u64> = words.iter().copied().collect();
    assert_eq!(distinct.len(), words.len(), "{what}: a word came twice");

    let mut bytes = Cells::new(256);
    for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
        bytes.count_cell(byte.into());
    }
    bytes.assert_uniform(&format!("{what}: bytes"));

    for (name, shift) in [("upper", 60), ("lower", 0)] {
        let mut pairs = Cells::new(256);
        for pair in words.windows(2) {
            let halves = [pair[0], pair[1]].map(|word| (word >> shift) as usize & 15);
            pairs.count_cell(16 * halves[0] + halves[1]);
        }
        pairs.assert_uniform(&format!("{what}: {name} bits of neighbours"));
    }

    // For each bit: how often it is set, and how often it differs between neighbours.
    let half = words.len() as f64 / 2.0;
    let allowed = 5.0 * (words.len() as f64).sqrt() / 2.0;
    for bit in 0..64 {
        let set = words.iter().filter(|word| **word >> bit & 1 == 1).count();
        assert!((set as f64 - half).abs() < allowed, "{what}: bit {bit}");
        let differ = words
            .windows(2)
            .filter(|pair| (pair[0] ^ pair[1]) >> bit & 1 == 1);
        let differ = differ.count() as f64;
        assert!(
            (differ - half).abs() < allowed,
            "{what}: change of bit {bit}"
        );
    }

    // The weight of the difference of neighbours, which is binomial: variance 16.
    let weights = words
        .windows(2)
        .map(|pair| (pair[0] ^ pair[1]).count_ones());
    let squares: f64 = weights
        .map(|weight| (f64::from(weight) - 32.0).powi(2))
        .sum();
    let variance = squares / (words.len() - 1) as f64;
    let deviation = 16.0 * (2.0 / words.len() as f64).sqrt();
    assert!(
        (variance - 16.0).abs() < 5.0 * deviation,
        "{what}: {variance}"
    );
}

#[test]
fn neighbours_interleaved_look_like_one_random_stream() {
    for algorithm in Algorithm::ALL {
        for (family, stream) in FAMILIES {
            let mut streams: Vec<_> = (0..64).map(|i| stream(algorithm, i)).collect();
            let words = interleaved(&mut streams, 1000);
            assert_random(&words, &format!("{algorithm}, 64 {family}"));
        }
    }
}

#[test]
fn ten_thousand_neighbours_interleaved_look_like_one_random_stream() {
    for algorithm in Algorithm::ALL {
        for (family, stream) in &FAMILIES[..4] {
            let mut streams: Vec<_> = (0..10_000).map(|i| stream(algorithm, i)).collect();
            let words = interleaved(&mut streams, 6);
            assert_random(&words, &format!("{algorithm}, 10 000 {family}"));
        }
    }
}

#[test]
fn one_bit_of_the_name_changes_half_of_all_bits() {
    const BYTES: usize = 1024;
    let bytes = |algorithm, seed, path: &[u32]| {
        let mut bytes = [0; BYTES];
        Stream::new(algorithm, seed, path).fill(&mut bytes);
        bytes
    };
    for algorithm in Algorithm::ALL {
        let (mut flips, mut changed_first_bits) = (0u32, [0u32; 64]);
        for seed in [0, 2026, 0x0123_4567_89ab_cdef_u128 << 37] {
            for path in [[0, 0], [5, 17], [u32::MAX, 1 << 31]] {
                let original = bytes(algorithm, seed, &path);
                let seeds = (0..128).map(|bit| (seed ^ 1 << bit, path));
                let paths = (0..64).map(|bit| {
                    let mut flipped = path;
                    flipped[bit / 32] ^= 1 << (bit % 32);
                    (seed, flipped)
                });
                for (seed, path) in seeds.chain(paths) {
                    let flipped = bytes(algorithm, seed, &path);
                    let pairs = original.iter().zip(&flipped);
                    let changed: u32 = pairs.map(|(a, b)| (a ^ b).count_ones()).sum();
                    // 8192 bits: 4096 on average, 45 is the deviation; one in 10^7 differs by 5.3.
                    let excess = (f64::from(changed) - 4096.0) / 45.25;
                    assert!(
                        excess.abs() < 5.3,
                        "{algorithm} {seed:x} {path:?}: {changed}"
                    );
                    let first = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().unwrap());
                    let difference = first(&original) ^ first(&flipped);
                    for (bit, count) in changed_first_bits.iter_mut().enumerate() {
                        *count += (difference >> bit & 1) as u32;
                    }
                    flips += 1;
                }
            }
        }
        for count in changed_first_bits {
            let excess = f64::from(count) - f64::from(flips) / 2.0;
            assert!(excess.abs() < 2.5 * f64::from(flips).sqrt(), "{algorithm}");
        }
    }
}

#[test]
fn one_element_over_many_paths_has_its_distribution() {
    for algorithm in [
        Algorithm::Philox4x64,
        Algorithm::ChaCha8,
        Algorithm::Aes256Ctr,
    ] {
        let (mut uniform, mut normal) = (Cells::new(256), Cells::new(256));
        let mut products = 0.0;
        let mut last = 0.0;
        for path in 0..20_000 {
            let elements = Elements::new(algorithm, 2026, &[path]).unwrap();
            let (mut x, mut y) = ([0.0f64], [0.0f64]);
            elements.uniform(3, &mut x).unwrap();
            elements.standard_normal(3, &mut y).unwrap();
            uniform.count(x[0]);
            normal.count(crate::common::statistics::normal_below(y[0]));
            products += y[0] * last;
            last = y[0];
        }
        uniform.assert_uniform("element 3, uniform");
        normal.assert_uniform("element 3, normal");
        let correlation = products / 20_000.0;
        assert!(
            correlation.abs() < 5.0 / 20_000f64.sqrt(),
            "{algorithm}: {correlation}"
        );
    }
}

/// The rank over GF(2) of 256 rows of 256 bits.
fn rank(mut rows: Vec<[u64; 4]>) -> usize {
    let mut rank = 0;
    for bit in 0..256 {
        let has_bit = |row: &[u64; 4]| row[bit / 64] >> (bit % 64) & 1 == 1;
        let Some(pivot) = (rank..rows.len()).find(|&i| has_bit(&rows[i])) else {
            continue;
        };
        rows.swap(rank, pivot);
        let pivot = rows[rank];
        for row in rows[rank + 1..].iter_mut().filter(|row| has_bit(row)) {
            for (word, other) in row.iter_mut().zip(pivot) {
                *word ^= other;
            }
        }
        rank += 1;
    }
    rank
}

#[test]
fn only_the_lowest_bit_of_xorshift128plus_is_linear() {
    for algorithm in Algorithm::ALL {
        for bit in [0, 63] {
            let mut stream = Stream::new(algorithm, 7, &[]);
            let mut row = || {
                [(); 4].map(|()| (0..64).fold(0, |row, _| row << 1 | stream.next_u64() >> bit & 1))
            };
            let rows = (0..256).map(|_| row()).collect();
            let rank = rank(rows);
            // A random matrix has a rank below 250 with a probability of 2^-49.
            if (algorithm, bit) == (Algorithm::Xorshift128Plus, 0) {
                assert_eq!(rank, 128, "the documents say that this bit fails");
            } else {
                assert!(rank >= 250, "{algorithm} bit {bit}: rank {rank}");
            }
        }
    }
}
