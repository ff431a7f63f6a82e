//! Every kind of array against its distribution, for any number of draws.

#![allow(dead_code, reason = "each test uses its own part")]

use wellspring_pseudo::{Algorithm, Elements};

use super::statistics::{Cells, normal_above, normal_below};

/// Elements that are made at a time.
const BATCH: usize = 1 << 16;

/// The result for one array.
pub(crate) struct Result {
    pub(crate) what: String,
    pub(crate) chi_square_deviations: f64,
    pub(crate) kolmogorov_smirnov: f64,
}

fn fill<T: Copy + Default>(draws: u64, make: impl Fn(u64, &mut [T]), mut count: impl FnMut(T)) {
    let mut batch = Vec::new();
    batch.resize(BATCH, T::default());
    let mut index = 0;
    while index < draws {
        let length = BATCH.min((draws - index) as usize);
        make(index, &mut batch[..length]);
        batch[..length].iter().copied().for_each(&mut count);
        index += length as u64;
    }
}

/// Draws of every kind, in `cells` cells each.
pub(crate) fn results(algorithm: Algorithm, draws: u64, cells: usize) -> Vec<Result> {
    let elements = Elements::new(algorithm, 2026, &[draws as u32]).unwrap();
    let mut results = Vec::new();
    let mut finish = |what: &str, cells: &Cells| {
        results.push(Result {
            what: format!("{algorithm} {what}"),
            chi_square_deviations: cells.chi_square_deviations(),
            kolmogorov_smirnov: cells.kolmogorov_smirnov(),
        });
    };
    macro_rules! check {
        ($what:expr, $type:ident, $method:ident, $below:expr) => {
            let mut counts = Cells::new(cells);
            let make = |first, out: &mut [$type]| elements.$method(first, out).unwrap();
            fill(draws, make, |x| counts.count($below(f64::from(x))));
            finish($what, &counts);
        };
    }
    check!("uniform f64", f64, uniform, |x| x);
    check!("uniform f32", f32, uniform, |x| x);
    check!("normal f64", f64, standard_normal, normal_below);
    check!("normal f32", f32, standard_normal, normal_below);
    check!("exponential f64", f64, standard_exponential, |x: f64| -(-x)
        .exp_m1());
    check!("exponential f32", f32, standard_exponential, |x: f64| -(-x)
        .exp_m1());

    // The low bits of uniform numbers, which the cells do not see.
    let mut counts = Cells::new(1 << 12);
    let make = |first, out: &mut [f64]| elements.uniform(first, out).unwrap();
    fill(draws, make, |x| {
        counts.count_cell((x * (1u64 << 53) as f64) as usize % (1 << 12));
    });
    finish("low bits of uniform f64", &counts);

    for largest in [1u32, 5, 999] {
        let mut counts = Cells::new(largest as usize + 1);
        let make = |first, out: &mut [u32]| elements.integers(0..=largest, first, out).unwrap();
        fill(draws, make, |x| counts.count_cell(x as usize));
        finish(&format!("integers to {largest}, 32 bits"), &counts);
        let mut counts = Cells::new(largest as usize + 1);
        let low = i64::MIN;
        let make = |first, out: &mut [i64]| {
            elements
                .integers(low..=low + i64::from(largest), first, out)
                .unwrap();
        };
        fill(draws, make, |x| counts.count_cell((x - low) as usize));
        finish(&format!("integers to {largest}, 64 bits"), &counts);
    }
    // A range that rejects a quarter of all words.
    let mut counts = Cells::new(3 << 8);
    let make = |first, out: &mut [u32]| elements.integers(0..=(3 << 30) - 1, first, out).unwrap();
    fill(draws, make, |x| counts.count_cell((x >> 22) as usize));
    finish("integers to 3 2^30, 32 bits", &counts);
    results
}

/// Normal numbers beyond 3 to 6 standard deviations: how many there are and should be.
pub(crate) fn tails(algorithm: Algorithm, draws: u64) -> Vec<(f64, u64, f64)> {
    let elements = Elements::new(algorithm, 2027, &[]).unwrap();
    let bounds = [3.0, 4.0, 4.5, 5.0, 5.5, 6.0];
    let mut counts = bounds.map(|_| 0);
    let make = |first, out: &mut [f64]| elements.standard_normal(first, out).unwrap();
    fill(draws, make, |x: f64| {
        for (count, bound) in counts.iter_mut().zip(bounds) {
            *count += u64::from(x.abs() > bound);
        }
    });
    let expected = bounds.map(|bound| 2.0 * normal_above(bound) * draws as f64);
    (0..bounds.len())
        .map(|i| (bounds[i], counts[i], expected[i]))
        .collect()
}
