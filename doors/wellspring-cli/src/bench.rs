//! `bench`: measures the engine and the operating system on this machine.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use wellspring_bench::{Options, Progress, Section, first_byte, html, json, run as measure, text};

/// The hidden option with which the command starts itself, to time the first byte of a fresh process.
const FIRST_BYTE: &str = "--first-byte";

/// Measure the engine and the operating system
///
/// Modes, threads, sizes, backends, helpers, latencies, fairness, the harvester beside readers, and a loop that writes
/// blocks. Every case has its turn in every round; figures are medians over the rounds, ratios the medians of the
/// rounds' ratios. Takes about a minute.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring bench --quick
  wellspring bench --only latency
  wellspring bench --json run.json --report run.html")]
pub(crate) struct BenchRequest {
    /// Take ten seconds instead of a minute; the figures are less exact
    #[arg(long)]
    quick: bool,

    /// Measure one part: throughput, latency, harvest, blocks or footprint
    #[arg(long, value_name = "PART", value_parser = sections())]
    only: Option<Section>,

    /// Write all figures to FILE as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a page with charts to FILE: one HTML file, which fetches nothing
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Print the nanoseconds to the first byte of this process, and nothing else
    #[arg(long, hide = true, exclusive = true)]
    first_byte: bool,
}

fn sections() -> impl TypedValueParser<Value = Section> {
    PossibleValuesParser::new(Section::ALL.map(Section::name))
        .try_map(|name| name.parse::<Section>())
}

pub(crate) fn run(request: &BenchRequest) -> Result<(), Failure> {
    if request.first_byte {
        return print(&format!("{}\n", first_byte().as_nanos()));
    }
    let mut bar = Bar(ProgressBar::hidden());
    let report = measure(&options(request)?, Vec::new(), &mut bar);
    bar.0.finish_and_clear();
    print(&text(&report))?;
    if let Some(path) = &request.json {
        write(path, &format!("{:#}\n", json::report(&report)))?;
    }
    if let Some(path) = &request.report {
        write(path, &html(&report))?;
    }
    Ok(())
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

fn print(text: &str) -> Result<(), Failure> {
    Output::standard()?.print(text)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = std::fs::write(path, text);
    written.map_err(|error| Failure::work(format!("{}: {error}", path.display())))
}

/// The bar on stderr, if that is a terminal.
struct Bar(ProgressBar);

impl Progress for Bar {
    fn begin(&mut self, steps: usize) {
        let style = ProgressStyle::with_template("[{bar:30}] {pos} of {len}, ETA {eta}  {msg}");
        let style = style.expect("the template is fixed").progress_chars("=> ");
        self.0 = ProgressBar::new(steps as u64).with_style(style);
    }

    fn step(&mut self, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.inc(1);
    }
}
