//! The gate on speed: has wellspring become slower?
//!
//! Every case is measured beside a yardstick that no change of wellspring moves: a peer of a fixed version, in the same
//! rounds. The ratio of both cancels what the machine does to both.
//!
//! Against another binary of this program, which works on every machine: both take turns, round by round. Against half of
//! what the project wants: this finds a mistake that makes a path several times slower, on machines with AVX-512 and VAES,
//! however busy they are. It is a step of the gate of every change.
//!
//! A loss counts if it is seen in each of three tries, so that one disturbance is no alarm.

use crate::limits::{OF_GATE, what};
use crate::peers;
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use wellspring_bench::generators::Generator;
use wellspring_bench::generators;
use wellspring_bench::report::Host;
use wellspring_bench::figures::median;
use wellspring_bench::throughput::{self, Case, Pace};

type Ratios = Vec<(String, f64)>;

/// How often a loss must be seen.
const TRIES: usize = 3;
/// Turns of the old and the new program, when two are compared.
const TURNS: usize = 7;

/// One second for all cases.
const PACE: Pace = Pace {
    rounds: 11,
    slice: Duration::from_millis(4),
};

/// The loss that fails against another binary, as a share; and on machines that others use as well.
pub(crate) const LOSS: f64 = 0.10;
pub(crate) const LOSS_ON_BUSY_MACHINES: f64 = 0.35;

/// The throughput of each case over its yardstick: the median of the rounds' ratios.
fn measure() -> Ratios {
    let standard = generators::standard().into_iter();
    let generators: Vec<Generator> = standard.chain(peers::native()).collect();
    let find = |name: &str| {
        let found = generators.iter().find(|one| one.name == name);
        found.expect("every name of OF_GATE is built in")
    };
    let cases = OF_GATE.iter().flat_map(|&(ours, yardstick, request, _)| {
        [ours, yardstick].map(|name| Case {
            generator: find(name),
            request,
            threads: 1,
        })
    });
    let cases: Vec<Case<'_>> = cases.collect();
    let measured = throughput::run(&cases, PACE, &ProgressBar::hidden());
    let pairs = measured.chunks(2).map(|pair| {
        let what = what(&pair[0].name, pair[0].request, &pair[1].name);
        (what, pair[0].over(&pair[1]))
    });
    pairs.collect()
}

/// The ratios that the project wants.
fn wanted() -> Ratios {
    let wanted = |&(ours, yardstick, request, ratio)| (what(ours, request, yardstick), ratio);
    OF_GATE.iter().map(wanted).collect()
}

/// The ratios on one line of JSON, for [`against_binary`].
pub(crate) fn line() -> String {
    format!("{}\n", json(&measure()))
}

fn json(ratios: &Ratios) -> Value {
    ratios
        .iter()
        .map(|(what, ratio)| (what.clone(), json!((ratio * 1e3).round() / 1e3)))
        .collect::<Map<_, _>>()
        .into()
}

/// The cases that lost more than `margin`, in words.
fn losses(old: &Value, new: &Ratios, margin: f64) -> Vec<String> {
    let lost = new.iter().filter_map(|(what, new)| {
        let old = old[what].as_f64()?;
        let loss = 1.0 - new / old;
        (loss > margin).then(|| {
            format!(
                "{what}: {new:.2}, expected {old:.2}: {:.0} % slower",
                loss * 100.0
            )
        })
    });
    lost.collect()
}

/// Tries until one try shows no loss. `Err` with the losses of the last.
fn judge(
    margin: f64,
    mut attempt: impl FnMut() -> Result<(Value, Ratios), Box<dyn Error>>,
) -> Result<String, Box<dyn Error>> {
    let mut lost = Vec::new();
    for _ in 0..TRIES {
        let (old, new) = attempt()?;
        lost = losses(&old, &new, margin);
        if lost.is_empty() {
            let rows = new.iter().map(|(what, new)| match old[what].as_f64() {
                Some(old) => format!("{what}: {new:.2}, expected {old:.2}\n"),
                None => format!("{what}: {new:.2}, new\n"),
            });
            return Ok(rows.collect::<String>()
                + &format!("no loss of more than {:.0} %\n", margin * 100.0));
        }
    }
    Err(format!(
        "in each of {TRIES} tries a loss of more than {:.0} %:\n{}",
        margin * 100.0,
        lost.join("\n")
    )
    .into())
}

/// Compares with the ratios that the project wants, where the CPU has the instructions that they are meant for.
pub(crate) fn against_wanted() -> Result<String, Box<dyn Error>> {
    let host = Host::this();
    let backends = [host.backend, host.chacha20_backend];
    if backends != ["aes256-vaes512", "chacha20-avx512"] {
        return Ok(format!(
            "SKIPPED: no ratios are wanted for {}\n",
            backends.join(" and ")
        ));
    }
    let wanted = json(&wanted());
    judge(0.5, || Ok((wanted.clone(), measure())))
}

/// Compares with another binary of this program: both take turns, and each case counts with its median.
pub(crate) fn against_binary(old: &Path, margin: f64) -> Result<String, Box<dyn Error>> {
    let new = std::env::current_exe()?;
    judge(margin, || {
        let mut samples = [Vec::new(), Vec::new()];
        for _ in 0..TURNS {
            for (program, samples) in [old, &new].into_iter().zip(&mut samples) {
                let output = Command::new(program).arg("--ratios").output()?;
                samples.push(serde_json::from_slice::<Map<String, Value>>(
                    &output.stdout,
                )?);
            }
        }
        let [old, new] = samples.map(|samples| medians(&samples));
        Ok((json(&old), new))
    })
}

fn medians(samples: &[Map<String, Value>]) -> Ratios {
    let Some(first) = samples.first() else {
        return Vec::new();
    };
    let of = |what: &String| {
        let figures: Vec<f64> = samples
            .iter()
            .filter_map(|sample| sample.get(what)?.as_f64())
            .collect();
        (what.clone(), median(&figures))
    };
    first.keys().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios(figure: f64) -> Ratios {
        vec![("a".into(), figure), ("new".into(), 1.0)]
    }

    #[test]
    fn a_loss_beyond_the_margin_fails_and_one_within_it_or_a_gain_does_not() {
        let old = json!({ "a": 2.0, "gone": 1.0 });
        for (figure, margin, lost) in [
            (1.79, 0.10, 1),
            (1.81, 0.10, 0),
            (3.0, 0.10, 0),
            (1.31, 0.35, 0),
            (1.29, 0.35, 1),
            (1.01, 0.50, 0),
            (0.99, 0.50, 1),
        ] {
            assert_eq!(
                losses(&old, &ratios(figure), margin).len(),
                lost,
                "{figure}"
            );
        }
    }

    #[test]
    fn a_loss_must_be_seen_in_every_try() {
        let old = json!({ "a": 2.0 });
        let mut tries = [1.0, 1.0, 2.0].into_iter();
        let passed = judge(0.1, || Ok((old.clone(), ratios(tries.next().unwrap()))));
        assert!(passed.unwrap().contains("no loss of more than 10 %"));
        let failed = judge(0.1, || Ok((old.clone(), ratios(1.0))));
        assert!(failed.unwrap_err().to_string().contains("50 % slower"));
    }

    #[test]
    fn every_case_of_the_gate_is_measured_beside_its_yardstick() {
        let ratios = measure();
        let names = |ratios: &Ratios| -> Vec<String> {
            let mut names: Vec<_> = ratios.iter().map(|(what, _)| what.clone()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&ratios), names(&wanted()));
        assert!(
            ratios
                .iter()
                .all(|(_, ratio)| ratio.is_finite() && *ratio > 0.0),
            "{ratios:?}"
        );
    }
}
