//! The status of the service: as JSON for programs, as text for people, with the problems that an operator should solve.
//!
//! The modules `metrics` and `page` make their figures of the JSON.

use serde_json::Value;
use std::sync::Arc;
use wellspring::{Phase, SourceError, SourceHealth, SourceStats, Stats};
use wellspring_command_line::table;
use wellspring_os::os::now_with_sleep_ns;
use wellspring_service_core::connections::ConnectionMeter;
use wellspring_service_core::day::{SLOT_S, Slot};
use wellspring_service_core::doors::{Door, get};
use wellspring_service_core::state::State;

// The status as JSON, without secrets. A key ends with its unit.

/// The connections and the users that are listed: they have drawn most.
const LISTED: usize = 50;

/// The whole status.
pub fn json(state: &State) -> Value {
    let mut status = with(state, LISTED, &state.connections.greatest(LISTED));
    status["day"] = day(state);
    status
}

/// The status with all users, and no connections but of guests: the metrics name no others, and there may be thousands.
pub(crate) fn with_guests(state: &State) -> Value {
    with(
        state,
        usize::MAX,
        &state.connections.of_door(Door::VhostUser),
    )
}

/// The status with this many users, which have drawn most, and these connections.
fn with(state: &State, users: usize, connections: &[(u64, Arc<ConnectionMeter>)]) -> Value {
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
        "self_test": {
            "runs": get(&state.self_tests.runs),
            "passed": state.self_tests.failure().is_none(),
            "failure": state.self_tests.failure().map(|failure| failure.to_string()),
        },
        "kernel_reseeds": state.kernel.reseeds(),
        "kernel_fault": state.kernel.fault(),
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
        "users": state.users.greatest(users).iter().map(|(peer, meter)| serde_json::json!({
            "user": peer.to_string(),
            "bytes": get(&meter.bytes),
            "requests": get(&meter.requests),
            "connections": get(&meter.connections),
        })).collect::<Vec<_>>(),
        "connections": connections.iter().map(|(number, meter)| serde_json::json!({
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

// The last day: lists with a figure for each quarter of an hour, the oldest first.

/// Notes the counters of the doors and the nodes, and the states of the sources. Called once a second.
pub(crate) fn note_day(state: &State, stats: &Stats) {
    let meters = Door::ALL.map(|door| state.doors.meter(door));
    let counters = Slot {
        bytes: meters.map(|meter| get(&meter.bytes)),
        requests: meters.map(|meter| meter.latencies.counts().requests()),
        // Node 0 takes every seed.
        reseeds: stats.nodes.first().map_or(0, |node| node.reseeds),
        clone_notices: get(&state.clone_notices),
        sources: stats
            .sources
            .iter()
            .map(|source| SourceState::of(source) as u8)
            .collect(),
    };
    state.day.note(now_with_sleep_ns(), counters);
}

fn day(state: &State) -> Value {
    let slots = state.day.slots();
    let list = |figure: &dyn Fn(&Slot) -> u64| slots.iter().map(figure).collect::<Vec<_>>();
    let doors = Door::ALL.map(|door| {
        serde_json::json!({
            "name": door.name(),
            "bytes": list(&|slot| slot.bytes[door as usize]),
            "requests": list(&|slot| slot.requests[door as usize]),
        })
    });
    let stats = state.engine.stats();
    let sources = stats.sources.iter().enumerate().map(|(place, source)| {
        let worst = slots.iter().map(|slot| {
            let worst = slot.sources.get(place);
            worst.map(|worst| SourceState::ALL[usize::from(*worst)].name())
        });
        serde_json::json!({"name": source.name, "worst": worst.collect::<Vec<_>>()})
    });
    serde_json::json!({
        "slot_s": SLOT_S,
        "doors": doors,
        "reseeds": list(&|slot| slot.reseeds),
        "clone_notices": list(&|slot| slot.clone_notices),
        "sources": sources.collect::<Vec<_>>(),
    })
}

// Problems that an operator should solve, in sentences.

/// A node with less credit than this, in bits, waits for seeds.
const LITTLE_CREDIT_BITS: u32 = 64;

/// Every problem there is now, the worst first.
pub fn problems(state: &State) -> Vec<String> {
    let stats = state.engine.stats();
    let mut problems = Vec::new();
    if let Some(failure) = state.self_tests.failure() {
        problems.push(format!(
            "Nothing is handed out until the service is started again: {failure}."
        ));
    }
    if stats.phase != Phase::Ready {
        problems.push(format!(
            "The engine is {}: it has not been seeded with 128 bits, and readers wait.",
            stats.phase
        ));
    }
    for (number, node) in stats.nodes.iter().enumerate() {
        let is_starved = node.credit_bits < LITTLE_CREDIT_BITS;
        if stats.phase == Phase::Ready && stats.nodes.len() > 1 && is_starved {
            problems.push(format!(
                "Node {number} is starved: {} bits of credit are left.",
                node.credit_bits
            ));
        }
    }
    if stats.harvester.is_some_and(|harvester| !harvester.alive) {
        problems.push("The harvester is late: readers gather noise themselves.".into());
    }
    let openings = state.doors.openings();
    for opening in openings.iter().filter(|opening| opening.fault.is_some()) {
        let fault = opening.fault.as_deref().unwrap_or_default();
        problems.push(format!(
            "{} at {} is not open: {fault}.",
            opening.name, opening.place
        ));
    }
    problems.extend(stats.sources.iter().filter_map(problem));
    if let Some(seed_file) = &stats.seed_file {
        if seed_file.found.is_fault() {
            problems.push(format!("The seed file was not used: {}.", seed_file.found));
        }
        if let Some(error) = seed_file.last_error {
            problems.push(format!("The seed file was not written: {error}."));
        }
    }
    problems
}

// The sources as an operator sees them: which of them work, and what is wrong with the others.

/// A draw that takes longer than this hangs: a sound one ends within 10 ms.
const HANGS_AFTER_MS: u64 = 1000;

/// The draws in a row that may yield nothing without an error and without a fault: on a machine with 37 threads ready
/// on 2 CPUs, the source `wakeups` yields nothing for some seconds.
const EMPTY_DRAWS: u64 = 15;

/// The state of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceState {
    /// It yields noise that passes its tests, or it is in its start-up test.
    Working,
    /// This machine has no such device, and never had while the service ran.
    Absent,
    /// It yields nothing.
    Silent,
    /// A draw does not end.
    Hanging,
    /// It failed a health test, and is tested again.
    Quarantined,
    /// It failed its health tests for good.
    Disabled,
}

impl SourceState {
    /// All states, in the order of their numbers: a later one is worse.
    pub(crate) const ALL: [Self; 6] = [
        Self::Working,
        Self::Absent,
        Self::Silent,
        Self::Hanging,
        Self::Quarantined,
        Self::Disabled,
    ];

    /// The state that these statistics show. It depends on nothing else, so that a source that was silent before the
    /// first look is found by that look.
    pub(crate) fn of(source: &SourceStats) -> Self {
        let has_yielded = source.bytes + source.discarded_bytes > 0;
        match (source.health, source.last_error) {
            (SourceHealth::Disabled, _) => Self::Disabled,
            _ if source.drawing_for_ms > HANGS_AFTER_MS => Self::Hanging,
            _ if source.empty_draws == 0 => Self::tested(source.health),
            (_, Some(SourceError::Absent)) if !has_yielded => Self::Absent,
            (_, None | Some(SourceError::Busy)) if source.empty_draws <= EMPTY_DRAWS => {
                Self::tested(source.health)
            }
            _ => Self::Silent,
        }
    }

    fn tested(health: SourceHealth) -> Self {
        match health {
            SourceHealth::Quarantined => Self::Quarantined,
            SourceHealth::Disabled => Self::Disabled,
            SourceHealth::Active | SourceHealth::StartUp => Self::Working,
        }
    }

    /// The name in reports and metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Absent => "absent",
            Self::Silent => "silent",
            Self::Hanging => "hanging",
            Self::Quarantined => "quarantined",
            Self::Disabled => "disabled",
        }
    }

    /// Whether an operator should look at it.
    pub(crate) const fn is_fault(self) -> bool {
        !matches!(self, Self::Working | Self::Absent)
    }
}

/// The problem that a source has now, in a sentence.
fn problem(source: &SourceStats) -> Option<String> {
    let name = source.name;
    match SourceState::of(source) {
        SourceState::Working | SourceState::Absent => None,
        SourceState::Silent => {
            let reason = source
                .last_error
                .map_or("it returns no byte".into(), |error| error.to_string());
            let draws = source.empty_draws;
            Some(format!(
                "The source {name} is silent: {reason}, {draws} draws in a row."
            ))
        }
        SourceState::Hanging => Some(format!(
            "The source {name} hangs: a draw has not ended for {} ms.",
            source.drawing_for_ms
        )),
        SourceState::Quarantined => Some(format!(
            "The source {name} failed a health test. It is not used until 1024 samples pass."
        )),
        SourceState::Disabled => Some(format!(
            "The source {name} failed its health tests permanently. It is not used until the service starts again."
        )),
    }
}

/// Looks at the sources at intervals, and reports changes.
#[derive(Debug, Default)]
pub struct SourceWatch {
    /// Empty before the first look: a source is expected to work.
    last: Vec<SourceState>,
}

impl SourceWatch {
    /// Returns a line for each source whose state has changed since the last call, and whether that is a fault. At the
    /// first call for each that does not work.
    pub fn changes(&mut self, sources: &[SourceStats]) -> Vec<(bool, String)> {
        let now: Vec<SourceState> = sources.iter().map(SourceState::of).collect();
        let before = self
            .last
            .iter()
            .copied()
            .chain(core::iter::repeat(SourceState::Working));
        let all = sources.iter().zip(&now).zip(before);
        let changed = all.filter(|((_, now), before)| **now != *before);
        let changes = changed.map(|((source, now), before)| {
            let (name, state, before) = (source.name, now.name(), before.name());
            let words = problem(source)
                .unwrap_or_else(|| format!("The source {name} is {state}, it was {before}."));
            (now.is_fault(), words)
        });
        let changes = changes.collect();
        self.last = now;
        changes
    }
}

// The status as text, for people at a terminal.

/// The tables: the keys of their lists in the status, and the keys of their columns.
pub(crate) const TABLES: [(&str, &str); 7] = [
    ("openings", "name place open fault"),
    (
        "doors",
        "name bytes requests p99_ns open_now refused hostile",
    ),
    ("nodes", "credit_bits reseeds fetches"),
    (
        "sources",
        "name state health used_bytes credited_bits errors last_error",
    ),
    ("users", "user bytes requests connections"),
    (
        "connections",
        "number door user process open_for_s bytes requests faulty_requests",
    ),
    ("notices", "ago_s words"),
];

/// The status as text for people.
pub fn text(status: &Value) -> String {
    let mut text = String::new();
    let problems = rows(status, "problems");
    if problems.is_empty() {
        text += "All is well.\n";
    }
    for problem in problems {
        text += &format!("! {}\n", plain(problem));
    }
    text += &format!(
        "\n{} {}, process {}, up {} s: {}, generation {}, last reseed {} s ago, {} with {}\n",
        "wellspringd",
        plain(&status["version"]),
        plain(&status["process"]),
        plain(&status["uptime_s"]),
        plain(&status["phase"]),
        plain(&status["generation"]),
        plain(&status["seed_age_s"]),
        plain(&status["mode"]),
        plain(&status["backend"]),
    );
    if let Some(fault) = status["kernel_fault"].as_str() {
        let fault = fault.replace(char::is_control, "?");
        text += &format!("\nThe kernel cannot be reseeded after a clone: {fault}\n");
    }
    text += &pools(status);
    for (key, columns) in TABLES {
        let rows = rows(status, key);
        if rows.is_empty() {
            continue;
        }
        let columns: Vec<&str> = columns.split(' ').collect();
        let head = columns.iter().map(|column| match *column {
            // The name of an opening, a door, a source.
            "name" => key.trim_end_matches('s').into(),
            _ => column.replace('_', " "),
        });
        let mut cells = vec![head.collect::<Vec<String>>()];
        let cells_of = |row: &Value| columns.iter().map(|column| plain(&row[column])).collect();
        cells.extend(rows.iter().map(cells_of));
        text += &format!("\n{}", table(&cells));
    }
    text
}

/// The fill of the pools, in one line.
fn pools(status: &Value) -> String {
    let pools = rows(status, "pools");
    if pools.is_empty() {
        return String::new();
    }
    let bytes: Vec<String> = pools.iter().map(|pool| plain(&pool["bytes"])).collect();
    format!(
        "\nbytes in pools 0 to {}: {}\n",
        pools.len() - 1,
        bytes.join(" ")
    )
}

pub(crate) fn rows<'a>(status: &'a Value, key: &str) -> &'a [Value] {
    status[key].as_array().map_or(&[], Vec::as_slice)
}

/// A value without quotes, and without characters that a terminal obeys.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace(char::is_control, "?"),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn problems_come_first_and_missing_values_are_dashes() {
        let status = json!({
            "problems": ["Node 1 is starved."],
            "openings": [{"name": "egd", "place": "x.sock", "open": true, "fault": null}],
        });
        let text = text(&status);
        assert!(text.starts_with("! Node 1 is starved.\n"), "{text}");
        assert!(
            text.contains("opening  place   open  fault\negd      x.sock  true  -\n"),
            "{text}"
        );
    }

    #[test]
    fn words_of_others_do_not_command_the_terminal() {
        let status = json!({"problems": ["\u{1b}[2J\u{9b}2J\nno problem"]});
        assert!(text(&status).starts_with("! ?[2J?2J?no problem\n"));
    }
}
