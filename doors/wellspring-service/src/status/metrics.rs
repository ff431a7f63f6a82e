//! The metrics for Prometheus, in its text format.

use crate::doors::Door;
use crate::meters::{CLASSES, get, upper_bound_ns};
use crate::sources::SourceState;
use crate::state::State;
use core::fmt::{Display, Write};
use wellspring::{Phase, SourceHealth, SourceStats, Stats};

/// Every metric: its name and its help. A name that ends with `total` is that of a counter.
const HELP: &str = "
wellspring_build_info The version of the service.
wellspring_door_bytes_total Bytes handed out.
wellspring_door_mixed_bytes_total Bytes that clients gave to be mixed in.
wellspring_door_opened_total Connections accepted, or files opened.
wellspring_door_open Connections or files that are open now.
wellspring_door_refused_total Connections refused by a limit, and reads of files that would have filled the page cache.
wellspring_door_hostile_total Connections closed because of what came in.
wellspring_door_request_duration_seconds From the arrival of a request to its answer.
wellspring_opening_up Whether something that the configuration asks for is open.
wellspring_ready Whether the engine is seeded with 128 bits.
wellspring_generation The generation: one more with every reseed.
wellspring_seed_age_seconds Since the last reseed.
wellspring_clone_notices_total Notices that the machine was cloned, restored or asleep, and orders to take new keys.
wellspring_dropped_events_total Events of sources that did not reach the pools.
wellspring_dropped_mixes_total Events of mixed data that were dropped, since their queue was full.
wellspring_unlocked_bytes Secret memory that the system refused to lock.
wellspring_uptime_seconds Since the start of the service.
wellspring_harvester_alive Whether the harvester keeps its pace.
wellspring_harvester_cpu_seconds_total Time that the harvester has spent on a CPU.
wellspring_node_credit Credit left of the seeds of a node, in bits.
wellspring_node_reseeds_total Seeds that a node received.
wellspring_node_fetches_total Fresh keys that readers took from a node.
wellspring_pool_bytes Noise that a pool has gathered since it was last used.
wellspring_pool_credit Credit of the noise in a pool, in bits of min-entropy.
wellspring_source_bytes_total Bytes of noise that reached the pools.
wellspring_source_credit_total Their credit, in bits of min-entropy.
wellspring_source_discarded_bytes_total Bytes that were tested and thrown away.
wellspring_source_errors_total Draws that failed.
wellspring_source_health_failures_total Failures of health tests, by what a sound source shows.
wellspring_source_health 1 for the state that a source is in.
wellspring_source_state 1 for the state that the service sees a source in.
wellspring_source_empty_draws Draws in a row, up to the last, that yielded nothing.
wellspring_user_bytes_total Bytes that a user drew, at all doors.
wellspring_user_connections Connections of a user that are open now.
wellspring_guest_bytes_total Bytes that a virtual machine drew by vhost-user.
wellspring_guest_requests_total Requests of a virtual machine.
wellspring_guest_faulty_requests_total Requests of a virtual machine that got no bytes, because their descriptors were wrong.
";

/// All metrics.
#[must_use]
pub fn metrics(state: &State) -> String {
    let stats = state.engine.stats();
    let mut text = Text(String::with_capacity(16 * 1024));
    text.metric("wellspring_build_info");
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    text.value("wellspring_build_info", &version, 1);
    doors(&mut text, state);
    latencies(&mut text, state);
    engine(&mut text, state, &stats);
    let nodes = stats.nodes.iter().enumerate();
    text.rows(
        "node",
        nodes,
        &[
            ("wellspring_node_credit", |node| node.credit_bits.into()),
            ("wellspring_node_reseeds_total", |node| node.reseeds),
            ("wellspring_node_fetches_total", |node| node.fetches),
        ],
    );
    let pools = stats.pools.iter().enumerate();
    text.rows(
        "pool",
        pools,
        &[
            ("wellspring_pool_bytes", |pool| pool.bytes.into()),
            ("wellspring_pool_credit", |pool| pool.credit_bits.into()),
        ],
    );
    sources(&mut text, &stats.sources);
    let users = state.users.all();
    let users = users.iter().map(|(peer, meter)| (peer, &**meter));
    text.rows(
        "user",
        users,
        &[
            ("wellspring_user_bytes_total", |user| get(&user.bytes)),
            ("wellspring_user_connections", |user| get(&user.connections)),
        ],
    );
    guests(&mut text, state);
    text.0
}

/// A metric, and its value of a thing.
type Row<T> = (&'static str, fn(&T) -> u64);

/// The text. Each metric in it begins with its help and its type.
struct Text(String);

impl Text {
    fn metric(&mut self, name: &str) {
        let kind = match name {
            "wellspring_door_request_duration_seconds" => "histogram",
            _ if name.ends_with("_total") => "counter",
            _ => "gauge",
        };
        let mut lines = HELP.lines().filter_map(|line| line.split_once(' '));
        let found = lines.find(|(metric, _)| *metric == name);
        let help = found.map_or("", |(_, help)| help);
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0 += name;
        for (place, (label, text)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escape(text));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// Metrics with one label: a value of each of these things.
    fn rows<'a, T: 'a>(
        &mut self,
        label: &str,
        things: impl Iterator<Item = (impl Display, &'a T)> + Clone,
        rows: &[Row<T>],
    ) {
        for (name, read) in rows {
            self.metric(name);
            for (called, thing) in things.clone() {
                self.value(name, &[(label, &called.to_string())], read(thing));
            }
        }
    }
}

/// Escapes the value of a label as the format demands.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
}

fn doors(text: &mut Text, state: &State) {
    let meters = Door::ALL.into_iter();
    let meters = meters.map(|door| (door.name(), state.doors.meter(door)));
    text.rows(
        "door",
        meters,
        &[
            ("wellspring_door_bytes_total", |door| get(&door.bytes)),
            ("wellspring_door_mixed_bytes_total", |door| {
                get(&door.mixed_bytes)
            }),
            ("wellspring_door_opened_total", |door| get(&door.opened)),
            ("wellspring_door_open", |door| get(&door.open_now)),
            ("wellspring_door_refused_total", |door| get(&door.refused)),
            ("wellspring_door_hostile_total", |door| get(&door.hostile)),
        ],
    );
    let name = "wellspring_opening_up";
    text.metric(name);
    for opening in state.doors.openings() {
        let labels = [("name", opening.name), ("place", &*opening.place)];
        text.value(name, &labels, u8::from(opening.fault.is_none()));
    }
}

fn latencies(text: &mut Text, state: &State) {
    let name = "wellspring_door_request_duration_seconds";
    text.metric(name);
    for door in Door::ALL {
        let counts = state.doors.meter(door).latencies.counts();
        let mut below = 0;
        // Every second class: the bounds are powers of four.
        for (class, count) in counts.classes.iter().enumerate().take(CLASSES) {
            below += count;
            if class % 2 == 0 {
                let bound = (upper_bound_ns(class) as f64 / 1e9).to_string();
                let labels = [("door", door.name()), ("le", &*bound)];
                text.value(&format!("{name}_bucket"), &labels, below);
            }
        }
        let labels = [("door", door.name()), ("le", "+Inf")];
        text.value(&format!("{name}_bucket"), &labels, counts.requests());
        let labels = [("door", door.name())];
        text.value(&format!("{name}_sum"), &labels, counts.sum_ns as f64 / 1e9);
        text.value(&format!("{name}_count"), &labels, counts.requests());
    }
}

fn engine(text: &mut Text, state: &State, stats: &Stats) {
    let mut single = |name, value: f64| {
        text.metric(name);
        text.value(name, &[], value);
    };
    let is_ready = stats.phase == Phase::Ready;
    single("wellspring_ready", f64::from(u8::from(is_ready)));
    single("wellspring_generation", stats.generation as f64);
    single(
        "wellspring_seed_age_seconds",
        state.seed_age().as_secs_f64(),
    );
    single(
        "wellspring_clone_notices_total",
        get(&state.clone_notices) as f64,
    );
    single(
        "wellspring_dropped_events_total",
        stats.events_dropped as f64,
    );
    single("wellspring_dropped_mixes_total", stats.mixes_dropped as f64);
    single("wellspring_unlocked_bytes", stats.unlocked_bytes as f64);
    single(
        "wellspring_uptime_seconds",
        state.started().elapsed().as_secs_f64(),
    );
    if let Some(harvester) = &stats.harvester {
        let is_alive = f64::from(u8::from(harvester.alive));
        single("wellspring_harvester_alive", is_alive);
        let seconds = harvester.cpu_time_us as f64 / 1e6;
        single("wellspring_harvester_cpu_seconds_total", seconds);
    }
}

fn sources(text: &mut Text, sources: &[SourceStats]) {
    let named = sources.iter().map(|source| (source.name, source));
    text.rows(
        "source",
        named,
        &[
            ("wellspring_source_bytes_total", |source| source.bytes),
            ("wellspring_source_credit_total", |source| {
                source.credited_bits
            }),
            ("wellspring_source_discarded_bytes_total", |source| {
                source.discarded_bytes
            }),
            ("wellspring_source_errors_total", |source| source.errors),
            ("wellspring_source_empty_draws", |source| source.empty_draws),
        ],
    );
    let name = "wellspring_source_health_failures_total";
    text.metric(name);
    for source in sources {
        for (grade, count) in [
            ("intermittent", source.intermittent_failures),
            ("permanent", source.permanent_failures),
        ] {
            text.value(name, &[("source", source.name), ("grade", grade)], count);
        }
    }
    let name = "wellspring_source_health";
    text.metric(name);
    for source in sources {
        for health in SourceHealth::ALL {
            let labels = [("source", source.name), ("state", health.name())];
            text.value(name, &labels, u8::from(source.health == health));
        }
    }
    let name = "wellspring_source_state";
    text.metric(name);
    for source in sources {
        let now = SourceState::of(source);
        for state in SourceState::ALL {
            let labels = [("source", source.name), ("state", state.name())];
            text.value(name, &labels, u8::from(state == now));
        }
    }
}

/// The counters of each guest that is connected by vhost-user.
fn guests(text: &mut Text, state: &State) {
    let mut guests = state.connections.greatest(usize::MAX);
    guests.retain(|(_, meter)| meter.door == Door::VhostUser);
    guests.sort_by_key(|(number, _)| *number);
    for name in ["bytes", "requests", "faulty_requests"] {
        let metric = format!("wellspring_guest_{name}_total");
        text.metric(&metric);
        for (number, meter) in &guests {
            let count = match name {
                "bytes" => &meter.bytes,
                "requests" => &meter.requests,
                _ => &meter.faulty,
            };
            let process = meter.process.unwrap_or_default().to_string();
            let labels = [("guest", &*number.to_string()), ("process", &*process)];
            text.value(&metric, &labels, get(count));
        }
    }
}
