//! The throughput of many threads together, over one thread alone: a chart for each size.

use super::modes::MODES;
use crate::chart::{Axis, Bar, Bars, Drawing, Lines, Point, Series, Tint};
use crate::contender::{Family, Work};
use crate::format::{digits, rate};
use crate::page::Section;
use crate::report::Report;
use crate::throughput::Measurement;
use wellspring::Mode;

const WORKS: [Work; 3] = [Work::Fill(32), Work::Fill(4096), Work::Fill(65_536)];

pub(super) fn section(report: &Report) -> Section {
    let most = report.most_threads();
    let counts = counts(report);
    let drawing = |work| {
        if counts.len() > 2 {
            lines(report, work, &counts)
        } else {
            bars(report, work, most)
        }
    };
    Section {
        title: format!("1 to {most} threads"),
        words: "All threads together over one thread alone. Dotted: as many times as there are threads.".into(),
        drawings: WORKS.into_iter().filter(|_| most > 1).filter_map(drawing).collect(),
    }
}

fn counts(report: &Report) -> Vec<usize> {
    let mut counts: Vec<usize> = report.measurements.iter().map(|one| one.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Two numbers of threads: a bar for each mode.
fn bars(report: &Report, work: Work, most: usize) -> Option<Drawing> {
    let found = report
        .measurements
        .iter()
        .filter(|one| one.work == work && one.threads == most);
    let bars = found.filter_map(|many| {
        let factor = report.scaling(many, report.find(&many.name, work, 1)?);
        let tint = match many.family {
            Family::Mode => Tint::Ours,
            Family::System => Tint::Reference,
            _ => Tint::Other,
        };
        Some(Bar {
            name: many.name.clone(),
            value: factor,
            label: format!("{}x", digits(factor)),
            tint,
        })
    });
    let bars: Vec<Bar> = bars.collect();
    let chart = Bars {
        title: format!("Reads of {}", work.name()),
        caption: format!("{most} threads over one"),
        mark: Some(most as f64),
        bars,
    };
    (!chart.bars.is_empty()).then(|| chart.draw())
}

/// More: a line for each mode.
fn lines(report: &Report, work: Work, counts: &[usize]) -> Option<Drawing> {
    let series = |mode: Mode| {
        let alone = report.find(mode.name(), work, 1)?;
        let found = counts
            .iter()
            .filter_map(|&count| report.find(mode.name(), work, count));
        let point = |one: &Measurement| {
            let factor = report.scaling(one, alone);
            let total = rate(one.bytes_per_second());
            let words = format!("{} threads, {}x, {total}", one.threads, digits(factor));
            Point {
                x: one.threads as f64,
                y: factor,
                words,
            }
        };
        Some(Series {
            name: mode.to_string(),
            is_dashed: false,
            points: found.map(point).collect(),
        })
    };
    let series: Vec<Series> = MODES.into_iter().filter_map(series).collect();
    if series.is_empty() {
        return None;
    }
    let most = *counts.last()? as f64;
    let factors = series
        .iter()
        .flat_map(|one| one.points.iter().map(|point| point.y));
    let lines = Lines {
        title: format!("Reads of {}", work.name()),
        x: Axis {
            label: "threads".into(),
            is_logarithmic: true,
            ticks: counts
                .iter()
                .map(|&count| (count as f64, count.to_string()))
                .collect(),
            from: 0.9,
            to: most * 1.1,
        },
        y: Axis::linear("times one thread", factors.fold(most, f64::max), |factor| {
            format!("{}x", digits(factor))
        }),
        series,
        ideal: vec![(1.0, 1.0), (most, most)],
    };
    Some(lines.draw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn two_counts_are_bars_and_three_are_lines() {
        let mut report = sample::report();
        let svg = |report: &Report| {
            section(report)
                .drawings
                .iter()
                .map(Drawing::inline)
                .collect::<String>()
        };
        assert!(svg(&report).contains("class=\"bar\"") && !svg(&report).contains("class=\"line\""));
        let four = sample::measurement("canonical", Family::Mode, WORKS[0], 4, 1e6);
        report.measurements.push(four);
        assert!(svg(&report).contains("class=\"line\"") && !svg(&report).contains("class=\"bar\""));
    }
}
