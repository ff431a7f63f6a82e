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
