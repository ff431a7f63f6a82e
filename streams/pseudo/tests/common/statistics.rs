//! The tests of Kolmogorov and Smirnov and of chi-square, on counts in cells.

#![allow(dead_code, reason = "each test uses its own part")]

extern crate std;
use std::vec;
use std::vec::Vec;

/// The density of the normal distribution.
pub(crate) fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * core::f64::consts::PI).sqrt()
}

/// The probability of a normal number below `x` (Marsaglia, "Evaluating the normal distribution",
/// 2004), correct to 15 digits after the point.
pub(crate) fn normal_below(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return if x < 0.0 { 0.0 } else { 1.0 };
    }
    let (mut term, mut sum, mut i) = (x, x, 1.0);
    while term.abs() > 1e-17 {
        i += 2.0;
        term *= x * x / i;
        sum += term;
    }
    0.5 + sum * normal_density(x)
}

/// The probability of a normal number above `x` >= 3, correct to 10 digits: the continued fraction of
/// Laplace.
pub(crate) fn normal_above(x: f64) -> f64 {
    let fraction = (1..200).rev().fold(x, |below, i| x + f64::from(i) / below);
    normal_density(x) / fraction
}

/// How often each of some results should come.
pub(crate) struct Expected {
    counts: Vec<f64>,
    draws: f64,
}

impl Expected {
    pub(crate) fn new(probabilities: &[f64], draws: u64) -> Self {
        let draws = draws as f64;
        let counts = probabilities.iter().map(|p| p * draws).collect();
        Self { counts, draws }
    }

    /// Panics if `counts` differ from the expected ones, in one case of about 10^6 by chance. `outside` is how many
    /// results are not in `counts`.
    #[track_caller]
    pub(crate) fn assert_agrees(&self, what: &str, counts: &[u64], outside: u64) {
        let expected_outside = self.draws - self.counts.iter().sum::<f64>();
        // Results that are rare are put together with their neighbours.
        let (mut chi_square, mut groups) = (0.0, 0.0);
        let (mut group, mut group_expected) = (outside as f64, expected_outside.max(0.0));
        let (mut below, mut below_expected, mut distance) = (0.0, 0.0, 0.0f64);
        for (count, expected) in counts.iter().zip(&self.counts) {
            assert!(
                *expected > 0.0 || *count == 0,
                "{what}: {count} cannot come"
            );
            below += *count as f64;
            below_expected += expected;
            distance = distance.max((below - below_expected).abs());
            group += *count as f64;
            group_expected += expected;
            if group_expected > 20.0 {
                chi_square += (group - group_expected).powi(2) / group_expected;
                groups += 1.0;
                (group, group_expected) = (0.0, 0.0);
            }
        }
        // The last group may be small: a Poisson number.
        let excess = (group - group_expected).abs();
        let allowed = 5.0 * group_expected.sqrt() + 5.0;
        assert!(excess < allowed, "{what}: {group} of {group_expected}");
        let degrees = (groups - 1.0_f64).max(1.0);
        let deviations = (chi_square - degrees) / (2.0 * degrees).sqrt();
        // With few degrees chi-square has a longer tail than the normal distribution.
        let limit = 5.0 + 20.0 / degrees;
        assert!(
            deviations.abs() < limit,
            "{what}: chi-square is {deviations:.2} deviations off"
        );
        let distance = distance / self.draws.sqrt();
        assert!(
            distance < 2.7,
            "{what}: Kolmogorov-Smirnov statistic {distance:.2}"
        );
    }
}

/// Counts of numbers in cells of equal probability.
pub(crate) struct Cells {
    counts: Vec<u64>,
    total: u64,
}

impl Cells {
    pub(crate) fn new(cells: usize) -> Self {
        Self {
            counts: vec![0; cells],
            total: 0,
        }
    }

    /// Counts a number by the probability of a smaller one, from 0 to 1.
    pub(crate) fn count(&mut self, probability: f64) {
        let cells = self.counts.len();
        let cell = (probability * cells as f64) as usize;
        self.count_cell(cell.min(cells - 1));
    }

    pub(crate) fn count_cell(&mut self, cell: usize) {
        self.counts[cell] += 1;
        self.total += 1;
    }

    /// How many standard deviations chi-square lies above its mean, which is about normal for many
    /// cells.
    pub(crate) fn chi_square_deviations(&self) -> f64 {
        let expected = self.total as f64 / self.counts.len() as f64;
        let chi_square: f64 = self
            .counts
            .iter()
            .map(|&count| (count as f64 - expected).powi(2) / expected)
            .sum();
        let degrees = self.counts.len() as f64 - 1.0;
        (chi_square - degrees) / (2.0 * degrees).sqrt()
    }

    /// The statistic of Kolmogorov and Smirnov at the borders of the cells, times the root of the number
    /// of draws: above 1.36 in one case of 20, above 2.7 in one of 10^6.
    pub(crate) fn kolmogorov_smirnov(&self) -> f64 {
        let mut below = 0;
        let mut largest = 0.0f64;
        for (cell, count) in self.counts.iter().enumerate() {
            below += count;
            let expected = (cell + 1) as f64 / self.counts.len() as f64;
            largest = largest.max((below as f64 / self.total as f64 - expected).abs());
        }
        largest * (self.total as f64).sqrt()
    }

    /// Panics if the counts do not look like equal probabilities: in one case of about 10^6 by chance.
    #[track_caller]
    pub(crate) fn assert_uniform(&self, what: &str) {
        let (chi_square, distance) = (self.chi_square_deviations(), self.kolmogorov_smirnov());
        assert!(
            chi_square.abs() < 5.0,
            "{what}: chi-square is {chi_square:.2} deviations off"
        );
        assert!(
            distance < 2.7,
            "{what}: Kolmogorov-Smirnov statistic {distance:.2}"
        );
    }
}
