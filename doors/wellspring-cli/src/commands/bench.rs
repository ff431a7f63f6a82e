//! `bench`: measures the engine and the operating system on this machine.

use crate::failure::Failure;
use crate::output::Output;
use crate::values::named;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::path::PathBuf;
use wellspring_bench::{Options, Progress, Section, first_byte, html, json, run as measure, text};

/// The hidden option with which the command starts itself again, to time the first byte of a process.
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
    #[arg(long, value_name = "PART", value_parser = named(&Section::ALL, Section::name))]
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

/// Runs the command.
pub(crate) fn run(request: &BenchRequest) -> Result<(), Failure> {
    if request.first_byte {
        let text = format!("{}\n", first_byte().as_nanos());
        return Output::standard()?.print(&text);
    }
    // Before the measurement: a wrong path must not cost a minute.
    let create = |path: &Option<PathBuf>| path.as_deref().map(Output::create_public).transpose();
    let files = [create(&request.json)?, create(&request.report)?];
    let mut standard_output = Output::standard()?;
    let mut bar = Bar(ProgressBar::hidden());
    let report = measure(&options(request)?, Vec::new(), &mut bar);
    bar.0.finish_and_clear();
    // The files first: nothing is lost when the reader of the text has gone.
    let contents = [format!("{:#}\n", json::report(&report)), html(&report)];
    for (file, content) in files.into_iter().zip(contents) {
        if let Some(mut file) = file {
            file.print(&content)?;
        }
    }
    standard_output.print(&text(&report))
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
