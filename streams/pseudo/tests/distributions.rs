//! 10^6 draws of every kind against their distributions. `cargo run --release --example distributions`
//! takes 10^8.

mod common;

use common::distributions::{results, tails};
use wellspring_pseudo::Algorithm;

const DRAWS: u64 = 1_000_000;

#[test]
fn every_kind_of_array_has_its_distribution() {
    for algorithm in [
        Algorithm::Philox4x64,
        Algorithm::ChaCha8,
        Algorithm::Aes256Ctr,
    ] {
        for result in results(algorithm, DRAWS, 1000) {
            let deviations = result.chi_square_deviations;
            assert!(deviations.abs() < 5.0, "{}: {deviations}", result.what);
            let distance = result.kolmogorov_smirnov;
            assert!(distance < 2.7, "{}: {distance}", result.what);
        }
    }
}

#[test]
fn the_tails_of_normal_arrays_are_there() {
    for algorithm in [Algorithm::ChaCha8, Algorithm::Aes256Ctr] {
        for (bound, count, expected) in tails(algorithm, 2 * DRAWS) {
            let allowed = 5.0 * expected.sqrt() + 1.0;
            let excess = count as f64 - expected;
            assert!(
                excess.abs() < allowed,
                "{algorithm} {bound}: {count} {expected}"
            );
        }
    }
}
