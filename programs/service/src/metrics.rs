//! The metrics for Prometheus, in its text format: the figures of the status, each under a name and with labels.

use crate::status::{SourceState, with_guests};
use core::fmt::{Display, Write};
use serde_json::Value;
use wellspring::{Phase, SourceHealth};
use wellspring_service_core::doors::{CLASSES, Door, upper_bound_ns};
use wellspring_service_core::state::State;

/// The beginning of every name.
const PREFIX: &str = "wellspring_";

/// Every metric: its name, the place of its values in the status, and its help. A place `doors/bytes` is the key `bytes` of
/// each door; `-`: a figure that the status has in another form. A metric whose name ends with `total` is a counter.
const METRICS: &str = "\
build_info - The version of the service.
door_bytes_total doors/bytes Bytes handed out.
door_mixed_bytes_total doors/mixed_bytes Bytes that clients gave to be mixed in.
door_opened_total doors/opened Connections accepted, or files opened.
door_open doors/open_now Connections or files that are open now.
door_refused_total doors/refused Connections refused by a limit, and reads of files that would have filled the page cache.
door_gave_way_total doors/gave_way Connections closed to make room for a user who held fewer.
door_hostile_total doors/hostile Connections closed because of what came in.
door_request_duration_seconds - From the arrival of a request to its answer.
opening_up openings/open Whether something that the configuration asks for is open.
ready - Whether the engine is seeded with 128 bits, and no self-test failed.
generation generation The generation: one more with every reseed.
seed_age_seconds - Since the last reseed.
clone_notices_total clone_notices Notices that the machine was cloned, restored or asleep, and orders to take new keys.
self_tests_total self_test/runs Self-tests since the start, the first one included.
self_test_passed self_test/passed 1 as long as no self-test failed: after a failure nothing is handed out.
kernel_reseeds_total kernel_reseeds Reseeds of the kernel's generator, before the generation page changed.
dropped_events_total dropped_events Events of sources that did not reach the pools.
dropped_mixes_total dropped_mixes Events of mixed data that were dropped, since their queue was full.
unlocked_bytes not_locked_bytes Secret memory that the system refused to lock.
uptime_seconds - Since the start of the service.
harvester_alive harvester/alive Whether the harvester keeps its pace.
harvester_cpu_seconds_total - Time that the harvester has spent on a CPU.
node_credit nodes/credit_bits Credit left of the seeds of a node, in bits.
node_reseeds_total nodes/reseeds Seeds that a node received.
node_fetches_total nodes/fetches Fresh keys that readers took from a node.
pool_bytes pools/bytes Noise that a pool has gathered since it was last used.
pool_credit pools/credit_bits Credit of the noise in a pool, in bits of min-entropy.
source_bytes_total sources/used_bytes Bytes of noise that reached the pools.
source_credit_total sources/credited_bits Their credit, in bits of min-entropy.
source_discarded_bytes_total sources/discarded_bytes Bytes that were tested and thrown away.
source_errors_total sources/errors Draws that failed.
source_health_failures_total - Failures of health tests, by what a sound source shows.
source_health sources/health 1 for the state that a source is in.
source_state sources/state 1 for the state that the service sees a source in.
source_empty_draws sources/empty_draws Draws in a row, up to the last, that yielded nothing.
user_bytes_total users/bytes Bytes that a user drew, at all doors.
user_connections users/connections Connections of a user that are open now.
guest_bytes_total guests/bytes Bytes that a virtual machine drew by vhost-user.
guest_requests_total guests/requests Requests of a virtual machine.
guest_faulty_requests_total guests/faulty_requests Requests of a virtual machine that got no bytes, \
    because their descriptors were wrong.
";

/// All metrics.
pub fn metrics(state: &State) -> String {
    let status = with_guests(state);
    let mut text = Text(String::with_capacity(16 * 1024));
    for line in METRICS.lines() {
        let mut words = line.splitn(3, ' ');
        let mut next = || words.next().unwrap_or_default();
        let (name, place, help) = (next(), next(), next());
        text.begin(name, help);
        match place.split_once('/') {
            Some((list, key)) => {
                for (labels, thing) in things(&status, list) {
                    text.figure(name, &labels, &thing[key]);
                }
            }
            None if place == "-" => other(&mut text, name, state, &status),
            None => text.figure(name, &[], &status[place]),
        }
    }
    text.0
}

/// A label and its value.
type Label = (&'static str, String);

/// The things in a list of the status, with the labels of each.
fn things<'a>(status: &'a Value, list: &str) -> Vec<(Vec<Label>, &'a Value)> {
    let (from, keys): (&str, &[(&str, &str)]) = match list {
        "doors" => (list, &[("door", "name")]),
        "openings" => (list, &[("name", "name"), ("place", "place")]),
        "sources" => (list, &[("source", "name")]),
        "users" => (list, &[("user", "user")]),
        "guests" => (
            "connections",
            &[("guest", "number"), ("process", "process")],
        ),
        "nodes" => (list, &[("node", "")]),
        "pools" => (list, &[("pool", "")]),
        _ => (list, &[]),
    };
    let all = match &status[from] {
        Value::Array(all) => all.as_slice(),
        Value::Null => &[],
        one => core::slice::from_ref(one),
    };
    let labelled = all.iter().enumerate().map(|(number, thing)| {
        let labels = keys.iter().map(|(label, key)| {
            let value = match &thing[key] {
                _ if key.is_empty() => number.to_string(),
                Value::String(text) => text.clone(),
                // A process that the kernel does not name.
                Value::Null => "0".into(),
                value => value.to_string(),
            };
            (*label, value)
        });
        (labels.collect(), thing)
    });
    labelled.collect()
}

/// A metric that the status has in another form.
fn other(text: &mut Text, name: &str, state: &State, status: &Value) {
    match name {
        "build_info" => {
            let version = [("version", env!("CARGO_PKG_VERSION").into())];
            text.value(name, &version, 1);
        }
        "door_request_duration_seconds" => latencies(text, name, state),
        "ready" => {
            let is_ready =
                status["phase"] == Phase::Ready.to_string() && state.self_tests.failure().is_none();
            text.value(name, &[], u8::from(is_ready));
        }
        "seed_age_seconds" => text.value(name, &[], state.seed_age().as_secs_f64()),
        "uptime_seconds" => text.value(name, &[], state.started.elapsed().as_secs_f64()),
        "harvester_cpu_seconds_total" => {
            if let Some(us) = status["harvester"]["cpu_time_us"].as_u64() {
                text.value(name, &[], us as f64 / 1e6);
            }
        }
        _ => {
            for (mut labels, source) in things(status, "sources") {
                for grade in ["intermittent", "permanent"] {
                    labels.truncate(1);
                    labels.push(("grade", grade.into()));
                    text.value(name, &labels, &source[format!("{grade}_failures")]);
                }
            }
        }
    }
}

/// The text. Each metric in it begins with its help and its type.
struct Text(String);

impl Text {
    fn begin(&mut self, name: &str, help: &str) {
        let kind = match name {
            "door_request_duration_seconds" => "histogram",
            _ if name.ends_with("_total") => "counter",
            _ => "gauge",
        };
        let _ = write!(
            self.0,
            "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}\n"
        );
    }

    /// A figure of the status. A state has a line for each state there is.
    fn figure(&mut self, name: &str, labels: &[Label], figure: &Value) {
        match figure {
            Value::Bool(is_so) => self.value(name, labels, u8::from(*is_so)),
            Value::String(now) => {
                let health = SourceHealth::ALL.map(SourceHealth::name);
                let states = SourceState::ALL.map(SourceState::name);
                let all = if name == "source_health" {
                    &health[..]
                } else {
                    &states
                };
                for state in all {
                    let labels = [labels, &[("state", (*state).into())]].concat();
                    self.value(name, &labels, u8::from(now == state));
                }
            }
            number => self.value(name, labels, number),
        }
    }

    fn value(&mut self, name: &str, labels: &[Label], value: impl Display) {
        self.0 += PREFIX;
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
}

/// Escapes the value of a label as the format demands.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
}

fn latencies(text: &mut Text, name: &str, state: &State) {
    for door in Door::ALL {
        let counts = state.doors.meter(door).latencies.counts();
        let label = ("door", door.name().to_owned());
        let mut bucket = |bound: String, below| {
            let labels = [label.clone(), ("le", bound)];
            text.value(&format!("{name}_bucket"), &labels, below);
        };
        let mut below = 0;
        // Every second class: the bounds are powers of four.
        for (class, count) in counts.classes.iter().enumerate().take(CLASSES) {
            below += count;
            if class % 2 == 0 {
                bucket((upper_bound_ns(class) as f64 / 1e9).to_string(), below);
            }
        }
        bucket("+Inf".into(), counts.requests());
        let label = [label];
        text.value(&format!("{name}_sum"), &label, counts.sum_ns as f64 / 1e9);
        text.value(&format!("{name}_count"), &label, counts.requests());
    }
}
