//! The state of engines and sources as JSON.
//!
//! Units are the last part of a key.

use crate::values::bits_per_byte;
use serde_json::{Value, json};
use wellspring::{SourceStats, Stats};

/// All that `stats --json` prints.
pub(crate) fn engine(stats: &Stats) -> Value {
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
