//! Every distribution with parameters against the distribution functions of the crate statrs, by chi-square and
//! Kolmogorov-Smirnov: 250,000 elements each, or as many as WELLSPRING_DRAWS says. 10^6 draws of each other kind:
//! `cargo run --release --example distributions` takes 10^8.

use crate::common::distributions::{results, tails};
use crate::common::statistics::{Cells, Expected, normal_above, normal_below};
use statrs::distribution as theirs;
use statrs::distribution::{ContinuousCDF, Discrete};
use wellspring_pseudo::distributions::{
    Beta, Binomial, Cauchy, Choice, Dirichlet, Distribution, Gamma, Geometric, LogNormal,
    Multinomial, MultivariateNormal, Poisson, Sphere, StudentT, Subsets, TruncatedNormal, Weibull,
};
use wellspring_pseudo::{Algorithm, ElementError, Elements};

const CELLS: usize = 1000;
const BATCH_ROWS: usize = 1 << 12;

fn draws() -> u64 {
    let draws = std::env::var("WELLSPRING_DRAWS");
    draws.map_or(250_000, |draws| draws.parse().unwrap())
}

fn elements() -> Elements {
    Elements::new(Algorithm::ChaCha8, 2026, &[7]).unwrap()
}

/// Gives `count` every row of `width` numbers.
fn each_row<T: Copy + Default>(
    width: usize,
    rows: u64,
    fill: impl Fn(&Elements, u64, &mut [T]) -> Result<(), ElementError>,
    mut count: impl FnMut(&[T]),
) {
    let elements = elements();
    let mut batch = vec![T::default(); BATCH_ROWS * width];
    let mut first = 0;
    while first < rows {
        let length = BATCH_ROWS.min((rows - first) as usize);
        let batch = &mut batch[..length * width];
        fill(&elements, first, batch).unwrap();
        batch.chunks(width).for_each(&mut count);
        first += length as u64;
    }
}

/// The numbers below which 1, 2, .. of 1000 parts of a distribution lie.
fn quantiles(below: impl Fn(f64) -> f64) -> Vec<f64> {
    // Floats in their order: halving their bits finds any of them in 64 steps.
    let float = |rank: i64| f64::from_bits((rank ^ (rank >> 63) & i64::MAX) as u64);
    let (least, most) = (
        !f64::NEG_INFINITY.to_bits() as i64 | i64::MIN,
        f64::INFINITY.to_bits() as i64,
    );
    let quantile = |cell: usize| {
        let wanted = cell as f64 / CELLS as f64;
        let (mut low, mut high) = (least, most);
        while low.abs_diff(high) > 1 {
            let middle = low.midpoint(high);
            if below(float(middle)) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        float(high)
    };
    (1..CELLS).map(quantile).collect()
}

fn check_floats<D: Distribution<Number = f64>>(
    what: &str,
    (distribution, width, column): (&D, usize, usize),
    below: impl Fn(f64) -> f64,
) {
    let quantiles = quantiles(below);
    let mut cells = Cells::new(CELLS);
    let fill =
        |elements: &Elements, first, out: &mut [f64]| elements.draw(distribution, first, out);
    each_row(width, draws(), fill, |row| {
        cells.count_cell(quantiles.partition_point(|quantile| *quantile < row[column]));
    });
    cells.assert_uniform(what);
}

fn check_counts<D: Distribution<Number = i64>>(
    what: &str,
    (distribution, width, column): (&D, usize, usize),
    probability: impl Fn(u64) -> f64,
    (least, most): (u64, u64),
) {
    let probabilities: Vec<f64> = (least..=most).map(probability).collect();
    let mut counts = vec![0; probabilities.len()];
    let mut outside = 0;
    let fill =
        |elements: &Elements, first, out: &mut [i64]| elements.draw(distribution, first, out);
    each_row(width, draws(), fill, |row| {
        match counts.get_mut((row[column] as u64).wrapping_sub(least) as usize) {
            Some(count) => *count += 1,
            None => outside += 1,
        }
    });
    Expected::new(&probabilities, draws()).assert_agrees(what, &counts, outside);
}

/// The range of nearly all counts: 9 standard deviations.
fn range(mean: f64, variance: f64) -> (u64, u64) {
    let reach = 9.0 * variance.sqrt() + 9.0;
    ((mean - reach).max(0.0) as u64, (mean + reach) as u64)
}

#[test]
fn gamma_beta_and_t_have_their_distributions() {
    for (shape, scale) in [
        (0.05, 1.0),
        (0.5, 1.0),
        (1.0, 0.1),
        (2.5, 3.0),
        (30.0, 1.0),
        (1e4, 1.0),
    ] {
        let ours = Gamma::new(shape, scale).unwrap();
        let theirs = theirs::Gamma::new(shape, 1.0 / scale).unwrap();
        check_floats(&format!("gamma {shape}"), (&ours, 1, 0), |x| theirs.cdf(x));
    }
    let chi_square = theirs::ChiSquared::new(3.0).unwrap();
    check_floats(
        "chi-square",
        (&Gamma::chi_square(3.0).unwrap(), 1, 0),
        |x| chi_square.cdf(x),
    );
    for (a, b) in [(0.3, 0.4), (0.5, 3.0), (1.0, 1.0), (2.0, 5.0), (50.0, 60.0)] {
        let theirs = theirs::Beta::new(a, b).unwrap();
        let below = |x: f64| theirs.cdf(x.clamp(0.0, 1.0));
        check_floats(
            &format!("beta {a} {b}"),
            (&Beta::new(a, b).unwrap(), 1, 0),
            below,
        );
    }
    for df in [1.0, 3.5, 100.0] {
        let theirs = theirs::StudentsT::new(0.0, 1.0, df).unwrap();
        check_floats(
            &format!("t {df}"),
            (&StudentT::new(df).unwrap(), 1, 0),
            |x| theirs.cdf(x),
        );
    }
}

#[test]
fn functions_of_normal_and_exponential_numbers_have_their_distributions() {
    let ours = LogNormal::new(0.3, 0.8).unwrap();
    let theirs = theirs::LogNormal::new(0.3, 0.8).unwrap();
    check_floats("log-normal", (&ours, 1, 0), |x| theirs.cdf(x));
    for shape in [0.7, 1.5] {
        let theirs = theirs::Weibull::new(shape, 1.0).unwrap();
        check_floats("Weibull", (&Weibull::new(shape).unwrap(), 1, 0), |x| {
            theirs.cdf(x)
        });
    }
    let theirs = theirs::Cauchy::new(0.0, 1.0).unwrap();
    check_floats("Cauchy", (&Cauchy, 1, 0), |x| theirs.cdf(x));
}

#[test]
fn truncated_normal_numbers_have_their_distribution_in_every_part() {
    for (low, high) in [
        (-1.0, 2.0),
        (-9.0, 0.5),
        (-0.5, 0.7),
        (0.1, 9.0),
        (0.1, 0.8),
        (0.5, 9.0),
        (-9.0, -0.9),
    ] {
        let all = normal_below(high) - normal_below(low);
        let below = |x: f64| (normal_below(x.clamp(low, high)) - normal_below(low)) / all;
        let what = format!("truncated {low} {high}");
        let ours = TruncatedNormal::new(0.0, 1.0, low, high).unwrap();
        check_floats(&what, (&ours, 1, 0), below);
    }
    for (low, high) in [(6.0, f64::INFINITY), (6.0, 6.05)] {
        let all = normal_above(low) - if high < 7.0 { normal_above(high) } else { 0.0 };
        let below =
            |x: f64| ((normal_above(low) - normal_above(x.clamp(low, 30.0))) / all).clamp(0.0, 1.0);
        let ours = TruncatedNormal::new(5.0, 2.0, 5.0 + 2.0 * low, 5.0 + 2.0 * high).unwrap();
        check_floats("truncated tail", (&ours, 1, 0), |x| below((x - 5.0) / 2.0));
    }
}

#[test]
fn counts_have_their_distributions() {
    for p in [0.9, 0.3, 0.001] {
        let theirs = theirs::Geometric::new(p).unwrap();
        let most = (30.0 / p) as u64;
        check_counts(
            "geometric",
            (&Geometric::new(p).unwrap(), 1, 0),
            |k| theirs.pmf(k),
            (1, most),
        );
    }
    for (n, p) in [
        (20, 0.3),
        (5, 0.8),
        (100, 0.3),
        (1000, 0.9),
        (25, 0.5),
        (1_000_000, 0.5),
        (10_000_000, 1e-6),
    ] {
        let theirs = theirs::Binomial::new(p, n).unwrap();
        let mean = n as f64 * p;
        let (least, most) = range(mean, mean * (1.0 - p));
        let ours = Binomial::new(n as i64, p).unwrap();
        let what = format!("binomial {n} {p}");
        check_counts(
            &what,
            (&ours, 1, 0),
            |k| theirs.pmf(k),
            (least, most.min(n)),
        );
    }
    for mean in [0.01, 3.0, 9.9, 10.0, 123.4, 1e6] {
        let theirs = theirs::Poisson::new(mean).unwrap();
        let what = format!("Poisson {mean}");
        let ours = Poisson::new(mean).unwrap();
        check_counts(
            &what,
            (&ours, 1, 0),
            |k| theirs.ln_pmf(k).exp(),
            range(mean, mean),
        );
    }
}

#[test]
fn choices_come_as_their_weights_say() {
    let weights: Vec<f64> = (0..1000)
        .map(|i| f64::from(i * 7919 % 1000) * f64::from(i % 3))
        .collect();
    let sum: f64 = weights.iter().sum();
    let ours = Choice::new(&weights).unwrap();
    check_counts(
        "choice",
        (&ours, 1, 0),
        |i| weights[i as usize] / sum,
        (0, 999),
    );
    check_counts(
        "one choice",
        (&Choice::new(&[0.1]).unwrap(), 1, 0),
        |_| 1.0,
        (0, 0),
    );
}

#[test]
fn columns_of_rows_have_their_distributions() {
    for alpha in [[0.2, 3.0, 0.7], [1.0, 2.0, 5.0]] {
        let ours = Dirichlet::new(&alpha).unwrap();
        let sum: f64 = alpha.iter().sum();
        for (column, part) in alpha.into_iter().enumerate() {
            let theirs = theirs::Beta::new(part, sum - part).unwrap();
            let below = |x: f64| theirs.cdf(x.clamp(0.0, 1.0));
            check_floats(&format!("Dirichlet {part}"), (&ours, 3, column), below);
        }
    }
    let p = [0.2, 0.0, 0.5, 0.3];
    for n in [12, 400] {
        let ours = Multinomial::new(n, &p).unwrap();
        for (column, p) in p.into_iter().enumerate() {
            let theirs = theirs::Binomial::new(p, n as u64).unwrap();
            check_counts(
                &format!("multinomial {p}"),
                (&ours, 4, column),
                |k| theirs.pmf(k),
                (0, n as u64),
            );
        }
    }
    for (column, dimensions) in [(0, 2), (1, 2), (0, 3), (2, 3)] {
        let below = |x: f64| {
            let x = x.clamp(-1.0, 1.0);
            if dimensions == 2 {
                1.0 - x.acos() / std::f64::consts::PI
            } else {
                0.5 * (x + 1.0)
            }
        };
        let what = format!("sphere in {dimensions} dimensions");
        check_floats(
            &what,
            (&Sphere::new(dimensions).unwrap(), dimensions, column),
            below,
        );
    }
}

#[test]
fn normal_rows_have_their_covariance() {
    let (mean, covariance) = (
        [1.0, -2.0, 0.5],
        [[4.0, 1.2, -0.8], [1.2, 1.0, 0.3], [-0.8, 0.3, 2.0]],
    );
    let ours = MultivariateNormal::new(&mean, covariance.as_flattened()).unwrap();
    // Any sum of columns is normal.
    for factors in [
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 1.0, 1.0],
        [1.0, -2.0, 0.5],
    ] {
        let dot =
            |row: &[f64]| -> f64 { row.iter().zip(factors).map(|(x, factor)| x * factor).sum() };
        let deviation = dot(&covariance.map(|row| dot(&row))).sqrt();
        let mut cells = Cells::new(CELLS);
        let fill = |elements: &Elements, first, out: &mut [f64]| elements.draw(&ours, first, out);
        each_row(3, draws(), fill, |row| {
            cells.count(normal_below((dot(row) - dot(&mean)) / deviation))
        });
        cells.assert_uniform("a sum of columns");
    }
}

#[test]
fn all_rows_of_a_few_numbers_are_as_probable() {
    for (n, k) in [(5, 3), (6, 6), (7, 1)] {
        let ours = Subsets::new(n, k).unwrap();
        let number = |row: &[i64]| row.iter().fold(0, |sum, x| sum * n as usize + *x as usize);
        let mut counts = std::collections::BTreeMap::new();
        let fill = |elements: &Elements, first, out: &mut [i64]| elements.draw(&ours, first, out);
        each_row(k, draws(), fill, |row| {
            *counts.entry(number(row)).or_insert(0) += 1
        });
        let orders = (n - k as u64 + 1..=n).product::<u64>() as usize;
        assert_eq!(counts.len(), orders);
        let probabilities = vec![1.0 / orders as f64; orders];
        let counts: Vec<u64> = counts.into_values().collect();
        Expected::new(&probabilities, draws()).assert_agrees("subsets", &counts, 0);
    }
}

#[test]
fn rows_of_many_numbers_hold_each_once_and_reach_everywhere() {
    for n in [8192, 8193, 1 << 40] {
        let ours = Subsets::new(n, 500).unwrap();
        let mut cells = Cells::new(100);
        let fill = |elements: &Elements, first, out: &mut [i64]| elements.draw(&ours, first, out);
        each_row(500, 400, fill, |row| {
            let mut sorted = row.to_vec();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
            for x in [row[0], row[499]] {
                cells.count(x as f64 / n as f64);
            }
        });
        cells.assert_uniform(&format!("of {n}"));
    }
}

#[test]
fn a_long_and_a_short_way_to_a_row_give_the_same() {
    // 8192 numbers are kept in a table, 8193 in a map: the first columns differ only if their words say so.
    let (mut table, mut map) = ([0; 400], [0; 400]);
    elements()
        .draw(&Subsets::new(8192, 200).unwrap(), 3, &mut table)
        .unwrap();
    elements()
        .draw(&Subsets::new(8193, 200).unwrap(), 3, &mut map)
        .unwrap();
    let near = table
        .iter()
        .zip(map)
        .filter(|(x, y)| x.abs_diff(*y) <= 1)
        .count();
    assert!(near > 380, "{near}");
}

const DRAWS_OF_A_KIND: u64 = 1_000_000;

#[test]
fn every_kind_of_array_has_its_distribution() {
    for algorithm in [
        Algorithm::Philox4x64,
        Algorithm::ChaCha8,
        Algorithm::Aes256Ctr,
    ] {
        for result in results(algorithm, DRAWS_OF_A_KIND, 1000) {
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
        for (bound, count, expected) in tails(algorithm, 2 * DRAWS_OF_A_KIND) {
            let allowed = 5.0 * expected.sqrt() + 1.0;
            let excess = count as f64 - expected;
            assert!(
                excess.abs() < allowed,
                "{algorithm} {bound}: {count} {expected}"
            );
        }
    }
}
