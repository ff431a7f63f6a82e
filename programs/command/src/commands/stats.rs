//! `stats`: the state of an engine, without a secret.

use crate::engine::EngineRequest;
use crate::failure::Failure;
use crate::json;
use crate::output::Output;
use crate::size::{Size, count};
use crate::table::table;
use crate::values::bits_per_byte;
use clap::Args;
use wellspring::Stats;

/// Show the state of an engine, without a secret
///
/// It is the engine of this process, after a first read. Other programs have their own engines, which are likely to
/// look the same.
#[derive(Args)]
pub(crate) struct StatsRequest {
    #[command(flatten)]
    engine: EngineRequest,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(request: &StatsRequest) -> Result<(), Failure> {
    let engine = request.engine.build()?;
    // Only for its effect on the engine.
    let _: [u8; 32] = engine.bytes();
    let stats = engine.stats();
    let mut output = Output::standard()?;
    if request.json {
        return output.print(&format!("{:#}\n", json::engine(&stats)));
    }
    output.print(&tables(&stats))
}

fn tables(stats: &Stats) -> String {
    let memory = match stats.unlocked_bytes {
        0 => "locked".to_string(),
        bytes => format!(
            "{} not locked: the system refused (RLIMIT_MEMLOCK)",
            Size(bytes)
        ),
    };
    let engine = [
        ["phase", &stats.phase.to_string()],
        ["mode", stats.mode.name()],
        ["backend", stats.backend.name()],
        ["generation", &stats.generation.to_string()],
        ["taps", &stats.taps.to_string()],
        ["secret memory", &memory],
        ["events dropped", &stats.events_dropped.to_string()],
        ["mixes dropped", &stats.mixes_dropped.to_string()],
        ["harvester", &harvester(stats)],
        ["seed file", &seed_file(stats)],
    ];
    let mut nodes = vec![["node", "reseeds", "fetches", "credit"].map(String::from)];
    nodes.extend(stats.nodes.iter().enumerate().map(|(number, node)| {
        [
            number.to_string(),
            node.reseeds.to_string(),
            node.fetches.to_string(),
            format!("{} bits", node.credit_bits),
        ]
    }));
    let head = [
        "source",
        "claim",
        "used",
        "credited",
        "errors",
        "last error",
        "health",
    ];
    let mut sources = vec![head.map(String::from)];
    sources.extend(stats.sources.iter().map(|source| {
        [
            source.name.to_string(),
            format!("{} bits/byte", bits_per_byte(source.claim)),
            format!("{} bytes", source.bytes),
            format!("{} bits", source.credited_bits),
            source.errors.to_string(),
            source
                .last_error
                .map_or("-".into(), |error| error.to_string()),
            source.health.name().to_string(),
        ]
    }));
    format!(
        "The engine of this process, after its first read. Other processes have engines of their own.\n\n{}\n{}\n{}",
        table(&engine.map(|row| row.map(String::from))),
        table(&nodes),
        table(&sources)
    )
}

/// The harvester's state as one line.
fn harvester(stats: &Stats) -> String {
    let Some(harvester) = stats.harvester else {
        return "none: reads collect noise, one step every 16 ms at most".into();
    };
    format!(
        "{}, {} rounds, {} events, {} us of CPU time, last round {} ms ago",
        if harvester.alive {
            "running"
        } else {
            "late, or ended: reads collect noise"
        },
        harvester.rounds,
        harvester.events,
        harvester.cpu_time_us,
        harvester.last_round_ms_ago
    )
}

/// The seed file's state as one line.
fn seed_file(stats: &Stats) -> String {
    let Some(seed_file) = &stats.seed_file else {
        return "none".into();
    };
    let times = count(seed_file.writes, "time");
    let mut line = format!("found {}, written {times}", seed_file.found);
    if let Some(error) = seed_file.last_error {
        line += &format!(", then not written: {error}");
    }
    if seed_file.removed_unfinished {
        line += ", an unfinished file removed";
    }
    line
}
