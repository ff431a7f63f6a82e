//! 10^8 draws of every kind against their distributions, by chi-square over 65 536 cells and by
//! Kolmogorov and Smirnov.
//!
//! `cargo run --release -p wellspring-pseudo --example distributions [DRAWS]`

#[path = "../tests/common/distributions.rs"]
mod distributions;
#[path = "../tests/common/statistics.rs"]
mod statistics;

use std::process::ExitCode;

use wellspring_pseudo::Algorithm;

const CELLS: usize = 1 << 16;

fn main() -> ExitCode {
    let draws = match std::env::args().nth(1).map(|text| text.parse()) {
        None => 100_000_000,
        Some(Ok(draws)) => draws,
        Some(Err(error)) => {
            eprintln!("the number of draws is not a number: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut all_agree = true;
    println!("{draws} draws of each kind; chi-square should be within 5, K-S below 2.7\n");
    for algorithm in [
        Algorithm::ChaCha8,
        Algorithm::Aes256Ctr,
        Algorithm::Philox4x64,
    ] {
        for result in distributions::results(algorithm, draws, CELLS) {
            let (chi_square, distance) = (result.chi_square_deviations, result.kolmogorov_smirnov);
            let agrees = chi_square.abs() < 5.0 && distance < 2.7;
            let verdict = if agrees { "" } else { "  <-- differs" };
            println!(
                "{:48} chi-square {chi_square:6.2}  K-S {distance:5.2}{verdict}",
                result.what
            );
            all_agree &= agrees;
        }
        for (bound, count, expected) in distributions::tails(algorithm, draws) {
            let agrees = (count as f64 - expected).abs() < 5.0 * expected.sqrt() + 1.0;
            let verdict = if agrees { "" } else { "  <-- differs" };
            println!(
                "{:48} {count} beyond, {expected:.1} expected{verdict}",
                format!("{algorithm} normal, {bound} deviations")
            );
            all_agree &= agrees;
        }
    }
    if all_agree {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
