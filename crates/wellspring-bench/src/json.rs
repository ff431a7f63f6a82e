//! Reports as JSON.
//!
//! Written by hand: a value, its text, and nothing to read. serde would bring a macro and three crates into
//! the command's tree for that.

use crate::latency::Latency;
use crate::race::{Measurement, Speed};
use crate::report::Report;
use std::fmt::{self, Write};

/// A JSON value.
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Value>),
    Object(Vec<(&'static str, Value)>),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Value::Number(number as f64)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Number(number as f64)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Value::Bool(truth)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.into())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Value::Text(text.clone())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Value::Array(values.into_iter().map(Into::into).collect())
    }
}

/// An array made of an iterator.
pub(crate) fn array<T: Into<Value>>(values: impl Iterator<Item = T>) -> Value {
    values.collect::<Vec<_>>().into()
}

/// `{name: value, ...}`
macro_rules! object {
    ($($name:ident: $value:expr),* $(,)?) => {
        $crate::json::Value::Object(vec![$((stringify!($name), $value.into())),*])
    };
}
pub(crate) use object;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(truth) => write!(f, "{truth}"),
            Value::Number(number) if number.is_finite() => write!(f, "{number}"),
            // JSON has no other numbers.
            Value::Number(_) => f.write_str("null"),
            Value::Text(text) => quoted(f, text),
            Value::Array(values) => {
                f.write_char('[')?;
                for (place, value) in values.iter().enumerate() {
                    let comma = if place > 0 { ", " } else { "" };
                    write!(f, "{comma}{value}")?;
                }
                f.write_char(']')
            }
            Value::Object(members) => {
                f.write_char('{')?;
                for (place, (name, value)) in members.iter().enumerate() {
                    let comma = if place > 0 { ", " } else { "" };
                    write!(f, "{comma}\"{name}\": {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            '\0'..'\u{20}' => write!(f, "\\u{:04x}", u32::from(character))?,
            _ => f.write_char(character)?,
        }
    }
    f.write_char('"')
}

pub(crate) fn report(report: &Report) -> Value {
    let machine = &report.machine;
    let machine = object! {
        cpu: &machine.cpu,
        cpus: machine.cpus,
        system: &machine.system,
        backend: machine.backend,
        chacha20_backend: machine.chacha20_backend,
        load: machine.load,
    };
    let harvest = report.harvest.iter().map(|loss| {
        object! {
            mode: loss.mode.name(),
            readers: loss.readers,
            steps_per_second_alone: loss.alone_per_second,
            steps_per_second_hammered: loss.hammered_per_second,
            events_dropped_share: loss.dropped_share,
        }
    });
    let harvester = report.harvester.iter().map(|loss| {
        object! {
            mode: loss.mode.name(),
            readers: loss.readers,
            moved_share_alone: loss.alone_share,
            kept_share: loss.kept_share,
            events_per_cpu_second_alone: loss.alone_per_cpu_second,
            kept_cpu_share: loss.kept_cpu_share,
            cpu_share: loss.cpu_share,
        }
    });
    let blocks = report.blocks.iter().map(|with| {
        object! { source: with.source, block_ns: with.block_ns, share: with.share }
    });
    let footprint = report.footprint.as_ref().map(|footprint| {
        object! {
            first_byte_us: footprint.first_byte_us,
            in_fresh_processes: footprint.in_fresh_processes,
            tap_bytes: footprint.tap_bytes,
        }
    });
    let targets = report.targets().into_iter().map(|target| {
        object! {
            what: &target.what,
            wanted: target.wanted,
            unit: target.unit,
            found: target.found,
            met: target.is_met(),
        }
    });
    object! {
        machine: machine,
        rounds: report.rounds,
        throughput: array(report.measurements.iter().map(measurement)),
        latency: array(report.latencies.iter().map(latency)),
        harvest: array(harvest),
        harvester: array(harvester),
        blocks: array(blocks),
        footprint: footprint,
        targets: array(targets),
    }
}

fn measurement(one: &Measurement) -> Value {
    let means = |threads: &Vec<Speed>| array(threads.iter().map(|speed| speed.mean));
    object! {
        name: &one.name,
        family: one.family.name(),
        work: &one.work.name(),
        bytes: one.work.bytes(),
        threads: one.threads,
        bytes_per_second: one.bytes_per_second(),
        ns_per_request: one.ns_per_request(),
        spread: one.spread(),
        unfairness: one.unfairness(),
        requests_per_second_by_round: one.totals(),
        mean_requests_per_second_by_round_and_thread: array(one.rounds.iter().map(means)),
    }
}

fn latency(one: &Latency) -> Value {
    object! {
        name: &one.name,
        threads: one.threads,
        calls: one.calls,
        median_ns: one.median_ns(),
        p90_ns: one.nines_ns(1),
        p99_ns: one.nines_ns(2),
        p99_9_ns: one.nines_ns(3),
        p99_99_ns: one.nines_ns(4),
        max_ns: one.max_ns,
        ns_by_quarter_nines: one.by_quarter_nines.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn texts_are_escaped_and_impossible_numbers_are_null() {
        let value =
            object! { a: "\"\\\n", b: f64::NAN, c: Some(1.5), d: None::<f64>, e: vec![1_u64, 2] };
        assert_eq!(
            value.to_string(),
            r#"{"a": "\"\\\u000a", "b": null, "c": 1.5, "d": null, "e": [1, 2]}"#
        );
    }

    #[test]
    fn a_report_is_balanced_and_has_every_part() {
        let text = report(&sample::report()).to_string();
        let count = |character| text.matches(character).count();
        assert_eq!(count('{'), count('}'));
        assert_eq!(count('['), count(']'));
        for part in [
            "machine",
            "throughput",
            "latency",
            "harvest",
            "blocks",
            "footprint",
            "targets",
        ] {
            assert!(text.contains(&format!("\"{part}\": ")), "{part}");
        }
        assert!(text.contains(r#"<b>&\"peer\"</b>"#));
    }
}
