//! `sources`: what noise there is, how good it is, and recordings of it.
//!
//! ```text
//! list      a table of the sources of this machine
//! record    raw samples, for assessment
//! replay    recorded noise through the health tests
//! watch     an engine's sources at work
//! ```

mod list;
mod record;
mod replay;
mod watch;

use crate::failure::Failure;
use crate::size::Size;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wellspring::{MinEntropy, Source};
use wellspring_sources::{NoiseCommand, NoiseFile};

/// Show, record and replay noise
#[derive(Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wellspring sources list
  wellspring sources record jitter --bytes 1000000 --output jitter.bin
  wellspring sources record 'command:rtl_sdr -' --bytes 64k > sdr.bin
  wellspring sources replay vectors/noise/*.txt
  wellspring sources watch"
)]
pub(crate) struct SourcesRequest {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print a table of this machine's sources, after one draw on each
    List,
    Record(RecordRequest),
    Replay(ReplayRequest),
    Watch(WatchRequest),
}

/// Write raw samples, as they are before any test
///
/// For assessment, as by NIST's program for SP 800-90B. They are noise, NOT fit for keys.
#[derive(Args)]
struct RecordRequest {
    /// A name from the list, file:PATH, or command:WORDS
    name: String,

    /// How much, for each restart
    #[arg(long, value_name = "SIZE", default_value = "1000000")]
    bytes: Size,

    /// Do it N times, each in a new process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    restarts: u32,

    /// Write to FILE; - is the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// Run recorded noise through the health tests
///
/// Each FILE has the lines of vectors/noise/. Prints what became of each source, and compares it with what the file
/// says, if it does. The exit status is 1 if an answer differs.
#[derive(Args)]
struct ReplayRequest {
    /// Traces; with --raw, recordings
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The files are recordings of this source, as `record` writes them
    #[arg(long, value_name = "NAME")]
    raw: Option<String>,
}

/// Watch the sources of an engine with a harvester
///
/// The engine of this very process. On a terminal a table that is renewed in place, else a table after the other.
#[derive(Args)]
struct WatchRequest {
    /// How long a table stands, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(10..=3_600_000))]
    interval_ms: u64,

    /// End after N tables
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(request: &SourcesRequest) -> Result<(), Failure> {
    match &request.what {
        What::List => list::run(),
        What::Record(request) => record::run(request),
        What::Replay(request) => replay::run(request),
        What::Watch(request) => watch::run(request),
    }
}

/// The source of a name.
fn named(name: &str) -> Result<Arc<dyn Source>, Failure> {
    let refuse = |error| Failure::input(format!("{name}: {error}"));
    if let Some(path) = name.strip_prefix("file:") {
        let file = NoiseFile::open(Path::new(path), MinEntropy::NONE).map_err(refuse)?;
        return Ok(Arc::new(file));
    }
    if let Some(words) = name.strip_prefix("command:") {
        let words = words.split_whitespace().map(Into::into).collect();
        let command = NoiseCommand::new(words, MinEntropy::NONE).map_err(refuse)?;
        return Ok(Arc::new(command));
    }
    let mut all = wellspring_sources::all().into_iter();
    let found = all.find(|source| source.name() == name);
    found.ok_or_else(|| {
        let names: Vec<_> = wellspring_sources::all()
            .iter()
            .map(|source| source.name())
            .collect();
        Failure::input(format!(
            "no source is called '{name}'; there are {}, file:PATH and command:WORDS",
            names.join(", ")
        ))
    })
}

/// A claim in bits a byte.
fn bits(claim: MinEntropy) -> String {
    (f64::from(claim.as_256ths()) / 256.0).to_string()
}
