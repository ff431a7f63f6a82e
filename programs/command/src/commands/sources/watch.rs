//! `sources watch`.

use crate::arguments::bits_per_byte;
use crate::commands::stats::harvest;
use crate::streams::{Failure, Output, signal_file};
use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::time::Duration;
use wellspring::{Engine, Harvester, Stats};
use wellspring_command_line::table;

/// Moves the cursor to the top left, and clears from there.
const RENEW: &str = "\x1b[H\x1b[J";

/// Watch the sources of an engine with a harvester
///
/// It is the engine of this process. On a terminal the table is renewed in place; elsewhere one table follows
/// another. SIGINT and SIGTERM end it with success.
#[derive(Args)]
pub(super) struct WatchRequest {
    /// The time from one table to the next, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(10..=3_600_000))]
    interval_ms: u64,

    /// End after N tables [default: at a signal]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Print one JSON object a line instead of each table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(request: &WatchRequest) -> Result<(), Failure> {
    // Before the engine starts a thread, so that the thread inherits the blocked signals.
    let end = signal_file(&[libc::SIGINT, libc::SIGTERM]).map_err(Failure::work)?;
    let builder = Engine::builder().harvester(Harvester::default());
    let engine = builder.build().map_err(Failure::work)?;
    let mut output = Output::standard()?;
    let is_live = output.is_terminal();
    let mut left = request.count.unwrap_or(u64::MAX);
    loop {
        // Without reads a harvester slows down.
        let _: [u8; 32] = engine.bytes();
        let stats = engine.stats();
        output.print(&match (request.json, is_live) {
            (true, _) => format!("{}\n", harvest(&stats)),
            (false, true) => format!("{RENEW}{}", tables(&stats)),
            (false, false) => format!("{}\n", tables(&stats)),
        })?;
        left -= 1;
        if left == 0 || arrived_within(&end, request.interval_ms)? {
            return Ok(());
        }
    }
}

fn tables(stats: &Stats) -> String {
    let head = [
        "source",
        "health",
        "claim",
        "used",
        "discarded",
        "credited",
        "failures",
        "errors",
        "last error",
    ];
    let mut rows = vec![head.map(String::from)];
    rows.extend(stats.sources.iter().map(|source| {
        [
            source.name.to_string(),
            source.health.name().to_string(),
            bits_per_byte(source.claim).to_string(),
            source.bytes.to_string(),
            source.discarded_bytes.to_string(),
            format!("{} bits", source.credited_bits),
            format!(
                "{}+{}",
                source.intermittent_failures, source.permanent_failures
            ),
            source.errors.to_string(),
            source
                .last_error
                .map_or("-".into(), |error| error.to_string()),
        ]
    }));
    format!(
        "{}, generation {}, {} events dropped\n{}",
        stats.phase,
        stats.generation,
        stats.events_dropped,
        table(&rows)
    )
}

/// Waits, and returns whether a signal came.
fn arrived_within(signals: &File, milliseconds: u64) -> Result<bool, Failure> {
    let time = Timespec::try_from(Duration::from_millis(milliseconds)).map_err(Failure::work)?;
    match poll(&mut [PollFd::new(signals, PollFlags::IN)], Some(&time)) {
        // It was stopped and continued.
        Err(Errno::INTR) => Ok(false),
        came => Ok(came.map_err(Failure::work)? > 0),
    }
}
