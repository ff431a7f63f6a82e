//! The page of a report: plots first, all tables below.
//!
//! ```text
//! curves  throughput by size, scaling by threads, latency by nines
//! plot    curves and dots as SVG
//! markup  the page around them
//! ```

mod curves;
pub(crate) mod markup;
pub(crate) mod plot;

use crate::contender::{Family, Work};
use crate::format::{digits, duration, figure, rate};
use crate::race::Measurement;
use crate::report::Report;
use crate::tables;
use crate::targets::{Bound, Target};
use plot::{Axis, Dot};

/// The page.
pub(crate) fn report(report: &Report) -> String {
    let machine = &report.machine;
    let load = machine.load.map_or(String::new(), |load| {
        format!(" Load at the start: {load:.2}.")
    });
    let header = markup::paragraph(&format!(
        "{}, {} usable. {}. Engine on {}. Medians of {} interleaved rounds.{load}",
        machine.cpu, machine.cpus, machine.system, machine.backend, report.rounds
    ));
    let tables: String = tables::of(report).iter().map(markup::table).collect();
    let body = [
        curves::throughput(report),
        small_reads(report),
        curves::scaling(report),
        curves::latency(report),
        backends(report),
        targets(&report.targets()),
        format!("<div class=\"tables\">\n{tables}</div>\n"),
    ];
    markup::page("wellspring: the ladder", &header, &body.concat())
}

/// What a key costs.
fn small_reads(report: &Report) -> String {
    let mut found: Vec<&Measurement> = report
        .measurements
        .iter()
        .filter(|one| one.work == Work::Fill(32) && one.threads == 1 && one.family != Family::Roof)
        .collect();
    found.sort_by(|one, other| one.ns_per_request().total_cmp(&other.ns_per_request()));
    let axis = Axis::logarithmic(
        "nanoseconds for 32 bytes, one thread (logarithmic)",
        found.iter().map(|one| one.ns_per_request()),
        duration,
    );
    let rows: Vec<Dot> = found
        .iter()
        .map(|one| dot(one, one.ns_per_request(), duration))
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => markup::section(
            "A key of 32 bytes",
            "Left is better. The engine in blue.",
            &plot::dots(&axis, &rows, None),
        ),
    }
}

fn dot(one: &Measurement, value: f64, name: impl Fn(f64) -> String) -> Dot {
    let class = match one.family {
        Family::Mode | Family::Handle => "c0",
        Family::System => "c1",
        Family::Backend => "c3",
        Family::Statistical => "c9",
        Family::Peer | Family::Roof => "c10",
    };
    Dot {
        name: one.name.clone(),
        value,
        label: name(value),
        class: class.into(),
    }
}

fn backends(report: &Report) -> String {
    let found = report
        .measurements
        .iter()
        .filter(|one| one.family == Family::Backend);
    let found: Vec<&Measurement> = found.collect();
    let most = found
        .iter()
        .map(|one| one.bytes_per_second())
        .fold(0.0, f64::max);
    let axis = Axis::linear("bytes per second, one thread", most, |value| match value {
        0.0 => "0".into(),
        value => rate(value),
    });
    let rows = found.iter().map(|one| {
        let mut row = dot(one, one.bytes_per_second(), rate);
        row.name = format!("{}, {}", one.name, one.work.name());
        row
    });
    let rows: Vec<Dot> = rows.collect();
    let words = "Bare keystreams, in the first-level cache and out of it. Right is better.";
    match rows.is_empty() {
        true => String::new(),
        false => markup::section("Backends", words, &plot::dots(&axis, &rows, None)),
    }
}

/// How far each target was reached: right of the line is better.
fn targets(targets: &[Target]) -> String {
    let reached = |target: &Target| {
        let found = target.found?;
        let share = match target.bound {
            Bound::AtLeast => found / target.wanted,
            Bound::AtMost => target.wanted / found,
        };
        (share.is_finite() && share > 0.0).then_some((share, found))
    };
    let rows: Vec<Dot> = targets
        .iter()
        .filter_map(|target| {
            let (value, found) = reached(target)?;
            Some(Dot {
                name: target.what.clone(),
                value,
                label: format!(
                    "{} of {}",
                    figure(found, target.unit),
                    figure(target.wanted, target.unit)
                ),
                class: if target.is_met() == Some(true) {
                    "good"
                } else {
                    "bad"
                }
                .into(),
            })
        })
        .collect();
    let values = rows.iter().map(|row| row.value).chain([0.5, 2.0]);
    let axis = Axis::logarithmic(
        "found over wanted (for costs: wanted over found)",
        values,
        |value| format!("{}x", digits(value)),
    );
    match rows.is_empty() {
        true => String::new(),
        false => markup::section(
            "Targets",
            "Right of the dotted line: met.",
            &plot::dots(&axis, &rows, Some(1.0)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_page_is_well_formed_and_fetches_nothing() {
        let page = report(&sample::report());
        markup::tests::assert_well_formed(&page);
        for part in [
            "Throughput by size",
            "A key of 32",
            "Scaling",
            "Latency",
            "Backends",
            "Targets",
            "<svg",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(
            page.contains("&lt;b&gt;&amp;&quot;peer&quot;"),
            "names are escaped"
        );
    }

    #[test]
    fn a_run_of_one_part_makes_a_page_without_the_others() {
        let mut partial = sample::report();
        partial.measurements.clear();
        partial.harvest.clear();
        partial.blocks.clear();
        let page = report(&partial);
        markup::tests::assert_well_formed(&page);
        assert!(page.contains("Latency") && !page.contains("Throughput by size"));
    }
}
