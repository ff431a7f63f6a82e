//! Curves: throughput by size, scaling by threads, latency by nines.

use super::markup;
use super::plot::{self, Axis, COLORS, Plot, Series};
use crate::contender::{Family, Work};
use crate::format::{digits, duration, rate};
use crate::latency::EMPTY;
use crate::race::Measurement;
use crate::report::Report;
use crate::subjects::SIZES;
use crate::tables;
use wellspring::Mode;

/// The modes have the first four colours, the default the strongest.
fn color(name: &str, next: &mut usize) -> usize {
    match Mode::ALL.into_iter().find(|mode| mode.name() == name) {
        Some(Mode::PerThread) => 0,
        Some(Mode::Canonical) => 1,
        Some(Mode::Concurrent) => 2,
        Some(Mode::PerNode) => 3,
        None => {
            *next += 1;
            4 + (*next - 1) % (COLORS - 4)
        }
    }
}

/// Curves of the members of `families` that were measured at three sizes or more on one thread, and of the
/// default mode and memset, which all others are held against.
fn by_size(report: &Report, families: &[Family]) -> Vec<Series> {
    let mut members: Vec<(&str, Family)> = Vec::new();
    for one in &report.measurements {
        let is_reference = one.name == Mode::PerThread.name() || one.family == Family::Roof;
        let is_new = !members.iter().any(|(name, _)| *name == one.name);
        if is_new && (is_reference || families.contains(&one.family)) {
            members.push((&one.name, one.family));
        }
    }
    members.sort_by_key(|(_, family)| tables::place(*family));
    let mut next = 0;
    let curves = members.into_iter().filter_map(|(name, family)| {
        let found = SIZES
            .iter()
            .filter_map(|&bytes| report.find(name, Work::Fill(bytes), 1));
        let points: Vec<_> = found
            .map(|one| (one.work.bytes() as f64, one.bytes_per_second(), words(one)))
            .collect();
        (points.len() >= 3).then(|| Series {
            name: name.into(),
            color: color(name, &mut next),
            is_strong: name == Mode::PerThread.name(),
            is_dashed: matches!(family, Family::Statistical | Family::Roof),
            points,
        })
    });
    curves.collect()
}

fn words(one: &Measurement) -> String {
    let cost = duration(one.ns_per_request());
    format!(
        "{}, {}, {cost} a read",
        one.work.name(),
        rate(one.bytes_per_second())
    )
}

fn size_axis() -> Axis {
    Axis {
        label: "bytes of one read".into(),
        is_logarithmic: true,
        ticks: SIZES
            .map(|bytes| (bytes as f64, Work::Fill(bytes).name()))
            .to_vec(),
        from: SIZES[0] as f64 * 0.8,
        to: SIZES[SIZES.len() - 1] as f64 * 1.25,
    }
}

pub(super) fn throughput(report: &Report) -> String {
    let ladder = by_size(report, &[Family::Mode, Family::Handle, Family::System]);
    if ladder.is_empty() {
        return String::new();
    }
    let mut figures = by_size_plot("The ladder", ladder);
    let has_peers = report
        .measurements
        .iter()
        .any(|one| one.family == Family::Peer);
    let others = by_size(report, &[Family::Peer, Family::Statistical]);
    figures += &by_size_plot(
        if has_peers {
            "Peers"
        } else {
            "The statistical tier"
        },
        others,
    );
    let words = "Up is better. Dashed: no secrecy, or no random numbers at all (memset). Point at a dot for its figures.";
    markup::section("Throughput by size", words, &figures)
}

fn by_size_plot(title: &str, series: Vec<Series>) -> String {
    let rates = series
        .iter()
        .flat_map(|one| one.points.iter().map(|point| point.1));
    let plot = Plot {
        title: Some(title.into()),
        width: 900.0,
        height: 400.0,
        x: size_axis(),
        y: Axis::logarithmic("bytes per second, one thread (logarithmic)", rates, rate),
        series,
        ideal: Vec::new(),
    };
    format!(
        "<figure>\n{}{}</figure>\n",
        plot.svg(),
        plot::legend(&plot.series)
    )
}

pub(super) fn scaling(report: &Report) -> String {
    let most = report.most_threads();
    let plots: Vec<Plot> = [32, 4096, 65_536]
        .into_iter()
        .filter(|_| most > 1)
        .map(|bytes| scaling_at(report, Work::Fill(bytes), most))
        .filter(|plot| !plot.series.is_empty())
        .collect();
    let Some(first) = plots.first() else {
        return String::new();
    };
    let legend = plot::legend(&first.series);
    let plots: String = plots
        .iter()
        .map(|plot| format!("<figure>\n{}</figure>\n", plot.svg()))
        .collect();
    let words =
        "All threads together over one thread alone. Dotted: as many times as there are threads.";
    markup::section(
        "Scaling by threads and mode",
        words,
        &format!("<div class=\"row\">\n{plots}</div>\n{legend}"),
    )
}

fn scaling_at(report: &Report, work: Work, most: usize) -> Plot {
    let mut series: Vec<Series> = Vec::new();
    let mut next = 0;
    for alone in report
        .measurements
        .iter()
        .filter(|one| one.work == work && one.threads == 1)
    {
        let all = report.measurements.iter();
        let many = all.filter(|one| one.name == alone.name && one.work == work);
        let points: Vec<_> = many
            .map(|one| {
                let factor = report.scaling(one, alone);
                let words = format!(
                    "{} threads, {}x, {}",
                    one.threads,
                    digits(factor),
                    rate(one.bytes_per_second())
                );
                (one.threads as f64, factor, words)
            })
            .collect();
        if points.len() > 1 {
            series.push(Series {
                name: alone.name.clone(),
                color: color(&alone.name, &mut next),
                is_strong: alone.name == Mode::PerThread.name(),
                is_dashed: false,
                points,
            });
        }
    }
    let mut counts: Vec<usize> = report.measurements.iter().map(|one| one.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    let highest = series
        .iter()
        .flat_map(|one| one.points.iter().map(|point| point.1));
    let highest = highest.fold(most as f64, f64::max);
    Plot {
        title: Some(work.name()),
        width: 300.0,
        height: 280.0,
        x: Axis {
            label: "threads".into(),
            is_logarithmic: true,
            ticks: counts
                .iter()
                .map(|&count| (count as f64, count.to_string()))
                .collect(),
            from: 0.9,
            to: most as f64 * 1.1,
        },
        y: Axis::linear("times one thread", highest, |factor| {
            format!("{}x", digits(factor))
        }),
        series,
        ideal: vec![(1.0, 1.0), (most as f64, most as f64)],
    }
}

pub(super) fn latency(report: &Report) -> String {
    let most = report
        .latencies
        .iter()
        .map(|one| one.threads)
        .max()
        .unwrap_or(1);
    let mut next = 0;
    let mut colors: Vec<(&str, usize)> = Vec::new();
    let curves = report
        .latencies
        .iter()
        .filter(|one| one.calls > 0)
        .map(|one| {
            let known = colors
                .iter()
                .find(|(name, _)| *name == one.name)
                .map(|(_, color)| *color);
            let color = known.unwrap_or_else(|| color(&one.name, &mut next));
            colors.push((&one.name, color));
            let points = one.by_quarter_nines.iter().enumerate().map(|(place, &ns)| {
                let nines = place as f64 / 4.0;
                let share = 100.0 * (1.0 - 10_f64.powf(-nines));
                let words = match place {
                    0 => format!("half of the reads within {}", duration(ns)),
                    _ => format!("{share:.4} % of the reads within {}", duration(ns)),
                };
                (nines, ns.max(0.1), words)
            });
            Series {
                name: if one.threads > 1 {
                    format!("{}, {} threads", one.name, one.threads)
                } else {
                    one.name.clone()
                },
                color,
                is_strong: one.name == Mode::PerThread.name() && one.threads == 1,
                is_dashed: one.threads > 1 || one.name == EMPTY,
                points: points.collect(),
            }
        });
    let series: Vec<Series> = curves.collect();
    if series.is_empty() {
        return String::new();
    }
    let longest = series.iter().map(|one| one.points.len()).max().unwrap_or(1) - 1;
    let marks = [
        "50 %",
        "90 %",
        "99 %",
        "99.9 %",
        "99.99 %",
        "99.999 %",
        "99.9999 %",
    ];
    let marks = marks.iter().enumerate().take(longest / 4 + 1);
    let costs = series
        .iter()
        .flat_map(|one| one.points.iter().map(|point| point.1));
    let plot = Plot {
        title: None,
        width: 900.0,
        height: 460.0,
        x: Axis {
            label: "share of the reads that take no longer".into(),
            is_logarithmic: false,
            ticks: marks
                .map(|(nines, name)| (nines as f64, name.to_string()))
                .collect(),
            from: -0.1,
            to: longest as f64 / 4.0 + 0.1,
        },
        y: Axis::logarithmic("time for a 32-byte read (logarithmic)", costs, duration),
        series,
        ideal: Vec::new(),
    };
    let words = format!(
        "Down is better. Each 9 to the right is a rarer read. Dashed: {}the loop that reads nothing, \
         which shows the clock's own cost and what the machine does to any program.",
        if most > 1 {
            format!("{most} threads at once, and ")
        } else {
            String::new()
        }
    );
    let figure = format!(
        "<figure>\n{}{}</figure>\n",
        plot.svg(),
        plot::legend(&plot.series)
    );
    markup::section("Latency", &words, &figure)
}
