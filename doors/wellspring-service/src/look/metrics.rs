//! The metrics for Prometheus.

use super::exposition::Text;
use crate::connections::ConnectionMeter;
use crate::doors::Door;
use crate::meters::{CLASSES, get, upper_bound_ns};
use crate::sources::SourceState;
use crate::state::State;
use wellspring::{SourceHealth, SourceStats};

/// All metrics.
#[must_use]
pub fn metrics(state: &State) -> String {
    let mut text = Text(String::with_capacity(16 * 1024));
    let version = env!("CARGO_PKG_VERSION");
    text.metric(
        "wellspring_build_info",
        "gauge",
        "The version of the service.",
    );
    text.value("wellspring_build_info", &[("version", version)], 1);
    doors(&mut text, state);
    latencies(&mut text, state);
    engine(&mut text, state);
    nodes(&mut text, state);
    pools(&mut text, state);
    sources(&mut text, state);
    users(&mut text, state);
    guests(&mut text, state);
    text.0
}

fn doors(text: &mut Text, state: &State) {
    type Read = fn(&crate::meters::DoorMeter) -> u64;
    let rows: [(&str, &str, &str, Read); 6] = [
        (
            "wellspring_door_bytes_total",
            "counter",
            "Bytes handed out.",
            |door| get(&door.bytes),
        ),
        (
            "wellspring_door_mixed_bytes_total",
            "counter",
            "Bytes that clients gave to be mixed in.",
            |door| get(&door.mixed_bytes),
        ),
        (
            "wellspring_door_opened_total",
            "counter",
            "Connections accepted, or files opened.",
            |door| get(&door.opened),
        ),
        (
            "wellspring_door_open",
            "gauge",
            "Connections or files that are open now.",
            |door| get(&door.open_now),
        ),
        (
            "wellspring_door_refused_total",
            "counter",
            "Connections refused by a limit, and reads of files that would have filled the page cache.",
            |door| get(&door.refused),
        ),
        (
            "wellspring_door_hostile_total",
            "counter",
            "Connections closed because of what came in.",
            |door| get(&door.hostile),
        ),
    ];
    for (name, kind, help, read) in rows {
        text.metric(name, kind, help);
        for door in Door::ALL {
            text.value(
                name,
                &[("door", door.name())],
                read(state.doors.meter(door)),
            );
        }
    }
    let name = "wellspring_opening_up";
    text.metric(
        name,
        "gauge",
        "Whether something that the configuration asks for is open.",
    );
    for opening in state.doors.openings() {
        let labels = [("name", opening.name), ("place", &*opening.place)];
        text.value(name, &labels, u8::from(opening.fault.is_none()));
    }
}

fn latencies(text: &mut Text, state: &State) {
    let name = "wellspring_door_request_duration_seconds";
    text.metric(
        name,
        "histogram",
        "From the arrival of a request to its answer.",
    );
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

fn engine(text: &mut Text, state: &State) {
    let stats = state.engine.stats();
    let is_ready = stats.phase == wellspring::Phase::Ready;
    let singles: [(&str, &str, &str, f64); 8] = [
        (
            "wellspring_ready",
            "gauge",
            "Whether the engine is seeded with 128 bits.",
            f64::from(u8::from(is_ready)),
        ),
        (
            "wellspring_generation",
            "gauge",
            "The generation: one more with every reseed.",
            stats.generation as f64,
        ),
        (
            "wellspring_seed_age_seconds",
            "gauge",
            "Since the last reseed.",
            state.seed_age().as_secs_f64(),
        ),
        (
            "wellspring_clone_notices_total",
            "counter",
            "Notices that the machine was cloned, restored or asleep, and orders to take new keys.",
            get(&state.clone_notices) as f64,
        ),
        (
            "wellspring_dropped_events_total",
            "counter",
            "Events of sources that did not reach the pools.",
            stats.events_dropped as f64,
        ),
        (
            "wellspring_dropped_mixes_total",
            "counter",
            "Events of mixed data that were dropped, since their queue was full.",
            stats.mixes_dropped as f64,
        ),
        (
            "wellspring_unlocked_bytes",
            "gauge",
            "Secret memory that the system refused to lock.",
            stats.unlocked_bytes as f64,
        ),
        (
            "wellspring_uptime_seconds",
            "gauge",
            "Since the start of the service.",
            state.started().elapsed().as_secs_f64(),
        ),
    ];
    for (name, kind, help, value) in singles {
        text.single(name, kind, help, value);
    }
    if let Some(harvester) = stats.harvester {
        let help = "Whether the harvester keeps its pace.";
        text.single(
            "wellspring_harvester_alive",
            "gauge",
            help,
            u8::from(harvester.alive),
        );
        let seconds = harvester.cpu_time_us as f64 / 1e6;
        let help = "Time that the harvester has spent on a CPU.";
        text.single(
            "wellspring_harvester_cpu_seconds_total",
            "counter",
            help,
            seconds,
        );
    }
}

fn nodes(text: &mut Text, state: &State) {
    let nodes = state.engine.stats().nodes;
    type Read = fn(&wellspring::NodeStats) -> u64;
    let rows: [(&str, &str, &str, Read); 3] = [
        (
            "wellspring_node_credit",
            "gauge",
            "Credit left of the seeds of a node, in bits.",
            |node| node.credit_bits.into(),
        ),
        (
            "wellspring_node_reseeds_total",
            "counter",
            "Seeds that a node received.",
            |node| node.reseeds,
        ),
        (
            "wellspring_node_fetches_total",
            "counter",
            "Fresh keys that readers took from a node.",
            |node| node.fetches,
        ),
    ];
    for (name, kind, help, read) in rows {
        text.metric(name, kind, help);
        for (number, node) in nodes.iter().enumerate() {
            text.value(name, &[("node", &number.to_string())], read(node));
        }
    }
}

fn sources(text: &mut Text, state: &State) {
    let sources = state.engine.stats().sources;
    type Read = fn(&wellspring::SourceStats) -> u64;
    let rows: [(&str, &str, Read); 4] = [
        (
            "wellspring_source_bytes_total",
            "Bytes of noise that reached the pools.",
            |source| source.bytes,
        ),
        (
            "wellspring_source_credit_total",
            "Their credit, in bits of min-entropy.",
            |source| source.credited_bits,
        ),
        (
            "wellspring_source_discarded_bytes_total",
            "Bytes that were tested and thrown away.",
            |source| source.discarded_bytes,
        ),
        (
            "wellspring_source_errors_total",
            "Draws that failed.",
            |source| source.errors,
        ),
    ];
    for (name, help, read) in rows {
        text.metric(name, "counter", help);
        for source in &sources {
            text.value(name, &[("source", source.name)], read(source));
        }
    }
    let name = "wellspring_source_health_failures_total";
    text.metric(
        name,
        "counter",
        "Failures of health tests, by what a sound source shows.",
    );
    for source in &sources {
        for (grade, count) in [
            ("intermittent", source.intermittent_failures),
            ("permanent", source.permanent_failures),
        ] {
            text.value(name, &[("source", source.name), ("grade", grade)], count);
        }
    }
    let name = "wellspring_source_health";
    text.metric(name, "gauge", "1 for the state that a source is in.");
    for source in &sources {
        for health in SourceHealth::ALL {
            let labels = [("source", source.name), ("state", health.name())];
            text.value(name, &labels, u8::from(source.health == health));
        }
    }
    source_states(text, &sources);
}

fn source_states(text: &mut Text, sources: &[SourceStats]) {
    let name = "wellspring_source_state";
    text.metric(
        name,
        "gauge",
        "1 for the state that the service sees a source in.",
    );
    for source in sources {
        let now = SourceState::of(source);
        for state in SourceState::ALL {
            let labels = [("source", source.name), ("state", state.name())];
            text.value(name, &labels, u8::from(state == now));
        }
    }
    let name = "wellspring_source_empty_draws";
    text.metric(
        name,
        "gauge",
        "Draws in a row, up to the last, that yielded nothing.",
    );
    for source in sources {
        text.value(name, &[("source", source.name)], source.empty_draws);
    }
}

fn pools(text: &mut Text, state: &State) {
    let pools = state.engine.stats().pools;
    type Read = fn(&wellspring::PoolStats) -> u32;
    let rows: [(&str, &str, Read); 2] = [
        (
            "wellspring_pool_bytes",
            "Noise that a pool has gathered since it was last used.",
            |pool| pool.bytes,
        ),
        (
            "wellspring_pool_credit",
            "Credit of the noise in a pool, in bits of min-entropy.",
            |pool| pool.credit_bits,
        ),
    ];
    for (name, help, read) in rows {
        text.metric(name, "gauge", help);
        for (number, pool) in pools.iter().enumerate() {
            text.value(name, &[("pool", &number.to_string())], read(pool));
        }
    }
}

fn users(text: &mut Text, state: &State) {
    let name = "wellspring_user_bytes_total";
    text.metric(name, "counter", "Bytes that a user drew, at all doors.");
    let users = state.users.all();
    for (peer, meter) in &users {
        text.value(name, &[("user", &peer.to_string())], get(&meter.bytes));
    }
    let name = "wellspring_user_connections";
    text.metric(name, "gauge", "Connections of a user that are open now.");
    for (peer, meter) in &users {
        text.value(
            name,
            &[("user", &peer.to_string())],
            get(&meter.connections),
        );
    }
}

/// The counters of each guest that is connected by vhost-user.
fn guests(text: &mut Text, state: &State) {
    type Read = fn(&ConnectionMeter) -> u64;
    let rows: [(&str, &str, Read); 3] = [
        (
            "wellspring_guest_bytes_total",
            "Bytes that a virtual machine drew by vhost-user.",
            |guest| get(&guest.bytes),
        ),
        (
            "wellspring_guest_requests_total",
            "Requests of a virtual machine.",
            |guest| get(&guest.requests),
        ),
        (
            "wellspring_guest_faulty_requests_total",
            "Requests of a virtual machine that got no bytes, because their descriptors were wrong.",
            |guest| get(&guest.faulty),
        ),
    ];
    let mut guests = state.connections.greatest(usize::MAX);
    guests.retain(|(_, meter)| meter.door == Door::VhostUser);
    guests.sort_by_key(|(number, _)| *number);
    for (name, help, read) in rows {
        text.metric(name, "counter", help);
        for (number, meter) in &guests {
            let process = meter.process.unwrap_or_default().to_string();
            let labels = [("guest", &*number.to_string()), ("process", &*process)];
            text.value(name, &labels, read(meter));
        }
    }
}
