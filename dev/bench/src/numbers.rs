//! Numbers beside other crates' numbers: `cargo xtask bench --numbers`. fastrand is not for secrets.

use crate::doors::{PACE, number};
use indicatif::ProgressBar;
use rand::seq::SliceRandom;
use rand::{Rng as _, RngExt as _};
use wellspring::LocalRng;
use wellspring_bench::figures::{Table, duration};
use wellspring_bench::generators::{Generator, Request};
use wellspring_bench::throughput::{self, Case};

/// A row: what is drawn; by our function, by `LocalRng`, by rand's generator that the caller holds, and by fastrand.
type Row = (&'static str, [Generator; 4]);

/// Each of the four draws a number of this kind. `$rng` names a generator in the second and the third.
macro_rules! row {
    ($what:literal, $function:expr, |$rng:ident| $local:expr, $theirs:expr, $fastrand:expr) => {
        (
            $what,
            [
                number(|| || $function as u64),
                number(|| {
                    let mut $rng = LocalRng::default();
                    move || $local as u64
                }),
                number(|| {
                    let mut $rng = rand::rng();
                    move || $theirs as u64
                }),
                number(|| || $fastrand as u64),
            ],
        )
    };
}

fn rows() -> Vec<Row> {
    vec![
        row!(
            "u64",
            wellspring::u64(),
            |rng| rng.u64(),
            rng.next_u64(),
            fastrand::u64(..)
        ),
        row!(
            "u32",
            wellspring::u32(),
            |rng| rng.u32(),
            rng.next_u32(),
            fastrand::u32(..)
        ),
        row!(
            "below(1000)",
            wellspring::below(1000_u64),
            |rng| rng.below(1000_u64),
            rng.random_range(0..1000_u64),
            fastrand::u64(0..1000)
        ),
        row!(
            "range(-5..=5)",
            wellspring::range(-5..=5_i32),
            |rng| rng.range(-5..=5_i32),
            rng.random_range(-5..=5_i32),
            fastrand::i32(-5..=5)
        ),
        row!(
            "f64",
            wellspring::f64().to_bits(),
            |rng| rng.f64().to_bits(),
            rng.random::<f64>().to_bits(),
            fastrand::f64().to_bits()
        ),
        row!(
            "bool",
            wellspring::bool(),
            |rng| rng.bool(),
            rng.random::<bool>(),
            fastrand::bool()
        ),
        shuffles(),
    ]
}

/// Each turn shuffles what the turn before left.
fn shuffles() -> Row {
    fn shuffling<R>(make: fn() -> R, shuffle: fn(&mut R, &mut [u64])) -> Generator
    where
        R: 'static,
    {
        number(move || {
            let (mut rng, mut cards) = (make(), (0..1000).collect::<Vec<u64>>());
            move || {
                shuffle(&mut rng, &mut cards);
                cards[0]
            }
        })
    }
    let all = [
        shuffling(|| (), |(), cards| wellspring::shuffle(cards)),
        shuffling(LocalRng::default, |rng, cards| rng.shuffle(cards)),
        shuffling(rand::rng, |rng, cards| cards.shuffle(rng)),
        shuffling(|| (), |(), cards| fastrand::shuffle(cards)),
    ];
    ("shuffle of 1000", all)
}

/// Measures all in turns.
pub(crate) fn run() -> Table {
    let rows = rows();
    let generators = rows.iter().flat_map(|(_, four)| four);
    let case = |generator| Case {
        generator,
        request: Request::Word,
        threads: 1,
    };
    let cases: Vec<Case<'_>> = generators.map(case).collect();
    let found = throughput::run(&cases, PACE, &ProgressBar::hidden());
    let titles = ["", "function", "LocalRng", "rand::rng(), held", "fastrand"];
    let mut table = Table::new("Numbers", &titles);
    for ((what, _), found) in rows.iter().zip(found.chunks(4)) {
        let times = found.iter().map(|one| duration(one.ns_per_request()));
        table
            .rows
            .push([(*what).into()].into_iter().chain(times).collect());
    }
    table.note("Medians of rounds in turns. fastrand is not for secrets.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generator_of_a_row_draws() {
        for (what, four) in rows() {
            for generator in four {
                let time = generator.runner().run(Request::Word, 100, &mut []);
                assert!(!time.is_zero(), "{what}");
            }
        }
    }
}
