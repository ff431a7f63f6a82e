//! `sources`: the noise sources of this machine, their health, and recordings of them.
//!
//! ```text
//! list      a table of the sources
//! record    raw samples, for assessment
//! replay    recorded noise through the health tests
//! watch     the sources of a running engine
//! find      a source by its name
//! ```

mod find;
mod list;
mod record;
mod replay;
#[cfg(target_os = "linux")]
mod watch;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use list::ListRequest;
use record::RecordRequest;
use replay::ReplayRequest;
#[cfg(target_os = "linux")]
use watch::WatchRequest;

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
  wellspring sources watch
  wellspring sources watch --json --count 10 > watch.json"
)]
pub(crate) struct SourcesRequest {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    List(ListRequest),
    Record(RecordRequest),
    Replay(ReplayRequest),
    #[cfg(target_os = "linux")]
    Watch(WatchRequest),
}

/// Runs the command.
pub(crate) fn run(request: &SourcesRequest) -> Result<(), Failure> {
    match &request.action {
        Action::List(request) => list::run(request),
        Action::Record(request) => record::run(request),
        Action::Replay(request) => replay::run(request),
        #[cfg(target_os = "linux")]
        Action::Watch(request) => watch::run(request),
    }
}
