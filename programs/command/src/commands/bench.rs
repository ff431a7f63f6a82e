//! `bench`: measures the engine and the operating system on this machine.

use crate::arguments::named;
use crate::streams::{Failure, Output};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use wellspring_bench::{Options, Part, first_byte, run as measure, tables};

/// The hidden option with which the command starts itself again, to time the first byte of a process.
const FIRST_BYTE: &str = "--first-byte";

/// Measure the engine and the operating system
///
/// Modes, threads, sizes, backends, latencies, fairness, and the harvester beside readers. Every round runs every
/// case; figures are medians over the rounds, ratios the medians of the rounds' ratios. Takes about a minute.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring bench --quick
  wellspring bench --only latency
  wellspring bench --json run.json")]
pub(crate) struct BenchRequest {
    /// Take ten seconds instead of a minute; the figures are less exact
    #[arg(long)]
    quick: bool,

    /// Measure one part: throughput, latency, harvest or footprint
    #[arg(long, value_name = "PART", value_parser = named(&Part::ALL, Part::name))]
    only: Option<Part>,

    /// Write all figures to FILE as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Print the nanoseconds to the first byte of this process, and nothing else
    #[arg(long, hide = true, exclusive = true)]
    first_byte: bool,
}

/// Runs the command.
pub(crate) fn run(request: &BenchRequest) -> Result<(), Failure> {
    if request.first_byte {
        let text = format!("{}\n", first_byte().as_nanos());
        return Output::standard()?.print(&text);
    }
    // Before the measurement: a wrong path must not cost a minute.
    let file = request.json.as_deref().map(Output::create_public);
    let file = file.transpose()?;
    let mut standard_output = Output::standard()?;
    let report = measure(&options(request)?, Vec::new());
    // The file first: nothing is lost when the reader of the text has gone.
    if let Some(mut file) = file {
        file.print(&format!("{:#}\n", report.json()))?;
    }
    standard_output.print(&tables::text(&report))
}

fn options(request: &BenchRequest) -> Result<Options, Failure> {
    let mut options = if request.quick {
        Options::quick()
    } else {
        Options::default()
    };
    options.only = request.only;
    let this = std::env::current_exe().map_err(Failure::work)?;
    let words: [OsString; 3] = [this.into(), "bench".into(), FIRST_BYTE.into()];
    options.first_byte_command = Some(words.into());
    Ok(options)
}
