//! The status as JSON, without secrets. A key ends with its unit.

use super::problems::problems;
use crate::doors::Door;
use crate::meters::get;
use crate::sources::SourceState;
use crate::state::State;
use serde_json::Value;

/// The connections and the users that are listed: those that have drawn most.
const LISTED: usize = 50;

/// The whole status.
pub fn json(state: &State) -> Value {
    with_greatest(state, LISTED)
}

/// The status with this many users and connections: those that have drawn most.
pub(super) fn with_greatest(state: &State, listed: usize) -> Value {
    let stats = state.engine.stats();
    serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "process": std::process::id(),
        "uptime_s": state.started.elapsed().as_secs(),
        "problems": problems(state),
        "phase": stats.phase.to_string(),
        "mode": stats.mode.name(),
        "backend": stats.backend.name(),
        "generation": stats.generation,
        "seed_age_s": state.seed_age().as_secs(),
        "clone_notices": get(&state.clone_notices),
        "taps": stats.taps,
        "dropped_events": stats.events_dropped,
        "dropped_mixes": stats.mixes_dropped,
        "not_locked_bytes": stats.unlocked_bytes,
        "openings": state.doors.openings().iter().map(|opening| serde_json::json!({
            "name": opening.name,
            "place": opening.place,
            "open": opening.fault.is_none(),
            "fault": opening.fault,
        })).collect::<Vec<_>>(),
        "doors": Door::ALL.map(|door| door_status(state, door)),
        "nodes": stats.nodes.iter().map(|node| serde_json::json!({
            "credit_bits": node.credit_bits,
            "reseeds": node.reseeds,
            "fetches": node.fetches,
        })).collect::<Vec<_>>(),
        "pools": stats.pools.iter().map(|pool| serde_json::json!({
            "bytes": pool.bytes,
            "credit_bits": pool.credit_bits,
        })).collect::<Vec<_>>(),
        "sources": stats.sources.iter().map(|source| serde_json::json!({
            "name": source.name,
            "state": SourceState::of(source).name(),
            "health": source.health.name(),
            "used_bytes": source.bytes,
            "credited_bits": source.credited_bits,
            "discarded_bytes": source.discarded_bytes,
            "empty_draws": source.empty_draws,
            "drawing_for_ms": source.drawing_for_ms,
            "intermittent_failures": source.intermittent_failures,
            "permanent_failures": source.permanent_failures,
            "errors": source.errors,
            "last_error": source.last_error.map(|error| error.to_string()),
        })).collect::<Vec<_>>(),
        "harvester": stats.harvester.map(|harvester| serde_json::json!({
            "alive": harvester.alive,
            "rounds": harvester.rounds,
            "events": harvester.events,
            "cpu_time_us": harvester.cpu_time_us,
            "since_last_round_ms": harvester.last_round_ms_ago,
        })),
        "users": state.users.greatest(listed).iter().map(|(peer, meter)| serde_json::json!({
            "user": peer.to_string(),
            "bytes": get(&meter.bytes),
            "requests": get(&meter.requests),
            "connections": get(&meter.connections),
        })).collect::<Vec<_>>(),
        "connections": state.connections.greatest(listed).iter().map(|(number, meter)| serde_json::json!({
            "number": number,
            "door": meter.door.name(),
            "user": meter.peer.to_string(),
            "process": meter.process,
            "open_for_s": meter.since.elapsed().as_secs(),
            "bytes": get(&meter.bytes),
            "requests": get(&meter.requests),
            "faulty_requests": get(&meter.faulty),
        })).collect::<Vec<_>>(),
        "notices": state.event_log.last().iter().map(|notice| serde_json::json!({
            "ago_s": notice.ago_s(),
            "fault": notice.is_fault,
            "words": notice.words,
        })).collect::<Vec<_>>(),
    })
}

fn door_status(state: &State, door: Door) -> Value {
    let meter = state.doors.meter(door);
    let latencies = meter.latencies.counts();
    serde_json::json!({
        "name": door.name(),
        "bytes": get(&meter.bytes),
        "requests": latencies.requests(),
        "p50_ns": latencies.quantile_ns(500),
        "p99_ns": latencies.quantile_ns(990),
        "mixed_bytes": get(&meter.mixed_bytes),
        "opened": get(&meter.opened),
        "open_now": get(&meter.open_now),
        "refused": get(&meter.refused),
        "gave_way": get(&meter.gave_way),
        "hostile": get(&meter.hostile),
    })
}
