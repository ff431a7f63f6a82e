//! `test FILE`: statistical tests of bytes from anywhere.

use crate::failure::Failure;
use crate::input::Input;
use crate::output::Output;
use crate::size::Size;
use crate::statistics::{MIN_PROBABILITY, Statistics, Test, Verdict};
use crate::table::table;
use clap::Args;
use serde_json::{Value, json};
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

/// Bytes are read in pieces of this length.
const PIECE_BYTES: usize = 256 << 10;

/// Test bytes from anywhere for statistical faults
///
/// Measures like rngtest and ent, and makes estimates of SP 800-90B, in one pass over any number of bytes. A test fails if
/// good data gives such a value with a probability below 1.25e-7: good data fails one of the 8 tests about once in a
/// million runs. The exit status is 1 if a test failed. A pass does not show that bytes are secret or hard to predict:
/// the bytes of any good pseudo-random generator pass, also if its seed is known.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring test noise.bin
  head -c 1G /dev/urandom | wellspring test -
  wellspring bytes 1G | wellspring test - --json

Tests:
  monobit             the share of one bits
  runs                the number of runs of equal bits
  FIPS 140-2 blocks   failures among blocks of 20,000 bits, after the first 4 bytes, as rngtest counts them
  chi-square          the counts of byte values; counts that are too equal fail too
  mean                of the bytes
  serial correlation  of each byte with the next, as in ent
  Monte Carlo pi      from points of 6 bytes, as in ent
  compression         Maurer's universal test with blocks of 6 bits (SP 800-22 2.9)

Estimates, which do not fail:
  entropy             Shannon's, of the counts of byte values, as in ent
  most common value   min-entropy by SP 800-90B 6.3.1
  compression         min-entropy by SP 800-90B 6.3.4; 0.8 to 0.95 is usual for good data")]
pub(crate) struct TestRequest {
    /// The file; - is the standard input
    file: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(request: &TestRequest) -> Result<(), Failure> {
    let mut input = Input::open(&request.file)?;
    let name = input.name().to_string();
    // Before the work: a closed output makes it useless.
    let mut output = Output::standard()?;
    let mut statistics = Statistics::default();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match input.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => statistics.update(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Input::refuse(&name, error)),
        }
    }
    if statistics.bytes() == 0 {
        return Err(Input::refuse(&name, "there are no bytes to test"));
    }
    let verdict = statistics.verdict();
    output.print(&if request.json {
        format!("{}\n", object(&verdict))
    } else {
        text(&verdict)
    })?;
    if verdict.failed() {
        return Err(Failure::Reported);
    }
    Ok(())
}

fn result(test: &Test) -> &'static str {
    match (test.failed, test.p_value) {
        (true, _) => "FAILED",
        (false, Some(_)) => "ok",
        (false, None) => "too few bytes",
    }
}

fn text(verdict: &Verdict) -> String {
    let head = ["test", "value", "expected", "p-value", "result"];
    let mut rows = vec![head.map(String::from)];
    rows.extend(verdict.tests.iter().map(|test| {
        [
            test.name.into(),
            number(test.value),
            number(test.expected),
            test.p_value.map_or("-".into(), probability),
            result(test).into(),
        ]
    }));
    let fips = &verdict.fips;
    let fips = format!(
        "FIPS 140-2: {} blocks; failed monobit {}, poker {}, runs {}, long run {}, continuous run {}\n",
        fips.blocks, fips.monobit, fips.poker, fips.runs, fips.long_run, fips.continuous_run
    );
    let head = ["estimate", "value", "unit"];
    let mut estimates = vec![head.map(String::from)];
    for (name, value, unit) in [
        ("entropy", Some(verdict.entropy), "bits per byte"),
        (
            "most common value",
            Some(verdict.most_common_value),
            "bits of min-entropy per byte",
        ),
        (
            "compression",
            verdict.compression,
            "bits of min-entropy per bit",
        ),
    ] {
        estimates.push([
            name.into(),
            value.map_or("-".into(), |value| format!("{value:.6}")),
            unit.into(),
        ]);
    }
    let failed = verdict.tests.iter().filter(|test| test.failed).count();
    let ok = verdict
        .tests
        .iter()
        .filter(|test| result(test) == "ok")
        .count();
    format!(
        "{}\n\n{}\n{fips}\n{}\n{ok} ok, {failed} failed, {} with too few bytes\n",
        Size(verdict.bytes),
        table(&rows),
        table(&estimates),
        verdict.tests.len() - ok - failed
    )
}

/// 6 digits after the point, or none for whole numbers.
fn number(value: f64) -> String {
    if value.is_nan() {
        "-".into()
    } else if value.fract() == 0.0 {
        format!("{value}")
    } else {
        // A small negative number is not "-0.000000".
        let value = if value.abs() < 5e-7 { 0.0 } else { value };
        format!("{value:.6}")
    }
}

fn probability(value: f64) -> String {
    if value == 0.0 {
        "0".into()
    } else if value >= 0.001 {
        format!("{value:.4}")
    } else {
        format!("{value:.1e}")
    }
}

fn object(verdict: &Verdict) -> Value {
    let tests = verdict.tests.iter().map(|test| {
        json!({
            "name": test.name,
            "value": test.value,
            "expected": test.expected,
            "p_value": test.p_value,
            "result": result(test),
        })
    });
    let fips = &verdict.fips;
    json!({
        "bytes": verdict.bytes,
        "failed": verdict.failed(),
        "fails_below_p_value": MIN_PROBABILITY,
        "tests": tests.collect::<Vec<_>>(),
        "fips_140_2": {
            "blocks": fips.blocks,
            "failed_blocks": fips.any,
            "monobit": fips.monobit,
            "poker": fips.poker,
            "runs": fips.runs,
            "long_run": fips.long_run,
            "continuous_run": fips.continuous_run,
        },
        "estimates": {
            "entropy_bits_per_byte": verdict.entropy,
            "most_common_value_bits_per_byte": verdict.most_common_value,
            "compression_bits_per_bit": verdict.compression,
        },
    })
}
