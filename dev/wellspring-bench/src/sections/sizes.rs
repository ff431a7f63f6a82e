//! Throughput by size, on one thread.

use super::modes::MODES;
use crate::chart::{Axis, Drawing, Lines, MAX_SERIES, Point, Series};
use crate::contender::{Family, Work};
use crate::format::{duration, rate};
use crate::page::Section;
use crate::report::Report;
use crate::subjects::{SIZES, name};
use crate::throughput::Measurement;
use wellspring::Mode;

/// With fewer points a line says less than bars.
const LEAST_POINTS: usize = 3;

pub(super) fn section(report: &Report) -> Section {
    let default = Mode::PerThread.name();
    let modes: Vec<&str> = MODES.iter().map(|mode| mode.name()).collect();
    let system = [default, name::GETRANDOM, name::VDSO, name::MEMSET];
    let mut drawings = Vec::new();
    drawings.extend(draw(report, "The four modes", &modes));
    drawings.extend(draw(report, "Beside the operating system", &system));
    for (family, title) in [
        (Family::Peer, "Beside other generators"),
        (Family::Statistical, "Without secrecy"),
    ] {
        let names = names(report, family);
        for (place, group) in names.chunks(MAX_SERIES - 1).enumerate() {
            let part = if place == 0 {
                String::new()
            } else {
                format!(", {}", place + 1)
            };
            let names = [&[default], group].concat();
            drawings.extend(draw(report, &format!("{title}{part}"), &names));
        }
    }
    Section {
        title: "Throughput by size of the read".into(),
        words:
            "One thread, both axes logarithmic. Higher is faster. Point at a mark for its figures."
                .into(),
        drawings,
    }
}

/// The members of a family that were measured at enough sizes for a line.
fn names(report: &Report, family: Family) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for one in report
        .measurements
        .iter()
        .filter(|one| one.family == family)
    {
        if !names.contains(&one.name.as_str()) && points(report, &one.name).len() >= LEAST_POINTS {
            names.push(&one.name);
        }
    }
    names
}

fn points(report: &Report, name: &str) -> Vec<Point> {
    let found = SIZES
        .iter()
        .filter_map(|&bytes| report.find(name, Work::Fill(bytes), 1));
    found.map(point).collect()
}

fn point(one: &Measurement) -> Point {
    let (rate, cost) = (rate(one.bytes_per_second()), duration(one.ns_per_request()));
    Point {
        x: one.work.bytes() as f64,
        y: one.bytes_per_second(),
        words: format!("{}, {rate}, {cost} a read", one.work.name()),
    }
}

fn draw(report: &Report, title: &str, names: &[&str]) -> Option<Drawing> {
    let series = names.iter().map(|&name| Series {
        name: name.into(),
        is_dashed: name == name::MEMSET,
        points: points(report, name),
    });
    let series: Vec<Series> = series
        .filter(|one| one.points.len() >= LEAST_POINTS)
        .collect();
    if series.len() < 2 {
        return None;
    }
    let rates = series
        .iter()
        .flat_map(|one| one.points.iter().map(|point| point.y));
    let lines = Lines {
        title: title.into(),
        x: Axis {
            label: "bytes of one read".into(),
            is_logarithmic: true,
            ticks: SIZES
                .map(|bytes| (bytes as f64, Work::Fill(bytes).name()))
                .to_vec(),
            from: SIZES[0] as f64 * 0.8,
            to: SIZES[SIZES.len() - 1] as f64 * 1.25,
        },
        y: Axis::logarithmic("bytes per second", rates, rate),
        series,
        ideal: Vec::new(),
    };
    Some(lines.draw())
}
