//! The results of the statistics: values, the values expected of good data, and the probability of such values.

use super::compression::Compression;
use super::fips::FipsFailures;
use super::monte_carlo_pi::MonteCarloPi;
use super::one_pass::Statistics;
use statrs::function::erf::erfc;
use statrs::function::gamma::{gamma_lr, gamma_ur};

/// A test fails if good data gives such a value with a smaller probability. There are 8 tests, so that good data
/// fails about once in a million runs.
pub(crate) const MIN_PROBABILITY: f64 = 1.25e-7;

/// An upper bound of the share of good blocks that fail at least one test of FIPS 140-2: 1354 of 1,717,986 blocks of
/// ChaCha8 failed (0.00079), and 8 % are added because that is a measurement.
const FIPS_FAILURE_RATE: f64 = 0.00085;

/// Below these amounts the distributions are not close enough to what the probabilities are computed from.
const MIN_CHI_SQUARE_BYTES: u64 = 40 * 256;
const MIN_SERIAL_BYTES: u64 = 1000;
const MIN_POINTS: u64 = 10_000;
const MIN_DISTANCES: u64 = 64_000;

/// A test.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    /// The mean of this value for good data.
    pub(crate) expected: f64,
    /// The probability that good data gives a value at least as far from `expected`; for FIPS 140-2 and chi-square, a
    /// value at least as large. `None` if there are too few bytes.
    pub(crate) p_value: Option<f64>,
    pub(crate) failed: bool,
}

impl Test {
    fn new(name: &'static str, value: f64, expected: f64, p_value: Option<f64>) -> Self {
        Self {
            name,
            value,
            expected,
            p_value,
            failed: p_value.is_some_and(|p_value| p_value < MIN_PROBABILITY),
        }
    }

    /// A test whose value is distributed almost normally.
    fn normal(
        name: &'static str,
        value: f64,
        expected: f64,
        deviation: f64,
        is_enough: bool,
    ) -> Self {
        let distance = (value - expected).abs() / deviation;
        let p_value = erfc(distance / std::f64::consts::SQRT_2);
        Self::new(name, value, expected, is_enough.then_some(p_value))
    }
}

/// The tests and estimates.
pub(crate) struct Verdict {
    pub(crate) bytes: u64,
    pub(crate) tests: Vec<Test>,
    pub(crate) fips: FipsFailures,
    /// Shannon's entropy of the byte counts, in bits per byte.
    pub(crate) entropy: f64,
    /// Min-entropy by SP 800-90B 6.3.1, in bits per byte.
    pub(crate) most_common_value: f64,
    /// Min-entropy by SP 800-90B 6.3.4, in bits per bit.
    pub(crate) compression: Option<f64>,
}

impl Verdict {
    pub(crate) fn failed(&self) -> bool {
        self.tests.iter().any(|test| test.failed)
    }
}

impl Statistics {
    /// The results of the statistics.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict {
            bytes: self.bytes(),
            tests: vec![
                monobit(self),
                runs(self),
                fips(self.fips.failures()),
                chi_square(self),
                mean(self),
                serial_correlation(self),
                pi(self),
                compression(&self.compression),
            ],
            fips: self.fips.failures(),
            entropy: self.counts.entropy(),
            most_common_value: self.counts.min_entropy(),
            compression: self.compression.min_entropy(),
        }
    }
}

/// The share of ones.
fn monobit(statistics: &Statistics) -> Test {
    let bits = statistics.bytes() as f64 * 8.0;
    let share = statistics.counts.ones() as f64 / bits;
    Test::normal("monobit", share, 0.5, 0.5 / bits.sqrt(), true)
}

/// The number of runs of equal bits. Each bit differs from the one before with a probability of 1/2.
fn runs(statistics: &Statistics) -> Test {
    let pairs = statistics.bytes() as f64 * 8.0 - 1.0;
    let runs = statistics.serial.changes() as f64 + 1.0;
    Test::normal("runs", runs, pairs / 2.0 + 1.0, pairs.sqrt() / 2.0, true)
}

/// The number of blocks that failed: of rare events, so by Poisson's distribution.
fn fips(failures: FipsFailures) -> Test {
    let expected = failures.blocks as f64 * FIPS_FAILURE_RATE;
    let failed = failures.any as f64;
    let p_value = match (failures.blocks, failures.any) {
        (0, _) => None,
        (_, 0) => Some(1.0),
        _ => Some(gamma_lr(failed, expected)),
    };
    Test::new("FIPS 140-2 blocks", failed, expected, p_value)
}

/// Counts that are too equal fail too: random counts are not equal.
fn chi_square(statistics: &Statistics) -> Test {
    const DEGREES: f64 = 255.0;
    let value = statistics.counts.chi_square();
    // The function is not defined at 0, where all counts are equal.
    let p_value = if value > 0.0 {
        gamma_ur(DEGREES / 2.0, value / 2.0)
    } else {
        1.0
    };
    let is_enough = statistics.bytes() >= MIN_CHI_SQUARE_BYTES;
    let mut test = Test::new("chi-square", value, DEGREES, is_enough.then_some(p_value));
    test.failed = is_enough && p_value.min(1.0 - p_value) < MIN_PROBABILITY / 2.0;
    test
}

fn mean(statistics: &Statistics) -> Test {
    let bytes = statistics.bytes() as f64;
    let (sum, _) = statistics.counts.sums();
    // The variance of a random byte is (256^2 - 1) / 12.
    let deviation = (65_535.0 / 12.0 / bytes).sqrt();
    Test::normal("mean", sum as f64 / bytes, 127.5, deviation, true)
}

/// Pearson's correlation of each byte with the next, as `ent` computes it.
fn serial_correlation(statistics: &Statistics) -> Test {
    let bytes = u128::from(statistics.bytes());
    let (sum, squares) = statistics.counts.sums();
    let products = statistics.serial.products();
    // Exact up to here: the differences are small compared with the products.
    let difference = |one: u128, other: u128| one.wrapping_sub(other) as i128 as f64;
    let covariance = difference(bytes * products, sum * sum);
    let variance = difference(bytes * squares, sum * sum);
    let bytes = bytes as f64;
    let expected = if bytes > 1.0 {
        -1.0 / (bytes - 1.0)
    } else {
        0.0
    };
    let is_enough = statistics.bytes() >= MIN_SERIAL_BYTES;
    const NAME: &str = "serial correlation";
    if variance == 0.0 {
        // All bytes are equal: the correlation is 0 / 0, and good data never is like that.
        return Test::new(NAME, f64::NAN, expected, is_enough.then_some(0.0));
    }
    let deviation = 1.0 / bytes.sqrt();
    Test::normal(NAME, covariance / variance, expected, deviation, is_enough)
}

fn pi(statistics: &Statistics) -> Test {
    let pi = &statistics.monte_carlo_pi;
    let points = pi.points() as f64;
    let share = MonteCarloPi::probability_of_inside();
    Test::normal(
        "Monte Carlo pi",
        4.0 * pi.inside() as f64 / points,
        4.0 * share,
        4.0 * (share * (1.0 - share) / points).sqrt(),
        pi.points() >= MIN_POINTS,
    )
}

fn compression(compression: &Compression) -> Test {
    Test::normal(
        "compression",
        compression.mean(),
        Compression::expected_mean(),
        compression.deviation_of_mean(),
        compression.distances() >= MIN_DISTANCES,
    )
}
