//! `stats`: the state of an engine, without a secret.

use crate::arguments::{EngineRequest, Size, bits_per_byte, count};
use crate::streams::{Failure, Output};
use clap::Args;
use serde_json::{Value, json};
use wellspring::{SourceStats, Stats};
use wellspring_command_line::table;

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

pub(crate) fn run(request: &StatsRequest) -> Result<(), Failure> {
    let engine = request.engine.build()?;
    // Only for its effect on the engine.
    let _: [u8; 32] = engine.bytes();
    let stats = engine.stats();
    let mut output = Output::standard()?;
    if request.json {
        return output.print(&format!("{:#}\n", as_json(&stats)));
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

// The state of engines and sources as JSON.
//
// Units are the last part of a key.

/// All that `stats --json` prints.
fn as_json(stats: &Stats) -> Value {
    let nodes: Vec<Value> = stats
        .nodes
        .iter()
        .map(|node| {
            json!({
                "reseeds": node.reseeds,
                "fetches": node.fetches,
                "credit_bits": node.credit_bits,
            })
        })
        .collect();
    json!({
        "phase": stats.phase.to_string(),
        "mode": stats.mode.name(),
        "backend": stats.backend.name(),
        "generation": stats.generation,
        "taps": stats.taps,
        "not_locked_bytes": stats.unlocked_bytes,
        "dropped_events": stats.events_dropped,
        "dropped_mixes": stats.mixes_dropped,
        "harvester": stats.harvester.map(|harvester| json!({
            "alive": harvester.alive,
            "rounds": harvester.rounds,
            "events": harvester.events,
            "cpu_time_us": harvester.cpu_time_us,
            "since_last_round_ms": harvester.last_round_ms_ago,
        })),
        "seed_file": stats.seed_file.as_ref().map(|file| json!({
            "path": file.path.to_string_lossy(),
            "found": file.found.to_string(),
            "writes": file.writes,
            "last_error": file.last_error.map(|error| error.to_string()),
            "removed_unfinished": file.removed_unfinished,
        })),
        "nodes": nodes,
        "sources": sources(stats),
    })
}

/// A table of `sources watch --json`.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(crate) fn harvest(stats: &Stats) -> Value {
    json!({
        "phase": stats.phase.to_string(),
        "generation": stats.generation,
        "dropped_events": stats.events_dropped,
        "sources": sources(stats),
    })
}

fn sources(stats: &Stats) -> Vec<Value> {
    stats.sources.iter().map(source).collect()
}

fn source(source: &SourceStats) -> Value {
    json!({
        "name": source.name,
        "health": source.health.name(),
        "claim_bits_per_byte": bits_per_byte(source.claim),
        "used_bytes": source.bytes,
        "discarded_bytes": source.discarded_bytes,
        "credited_bits": source.credited_bits,
        "intermittent_failures": source.intermittent_failures,
        "permanent_failures": source.permanent_failures,
        "errors": source.errors,
        "last_error": source.last_error.map(|error| error.to_string()),
    })
}
