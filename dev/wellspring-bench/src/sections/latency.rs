//! The distribution of single reads, on a logarithmic scale.

use super::modes::MODES;
use crate::chart::{Axis, Drawing, Lines, MAX_SERIES, Point, Series};
use crate::format::duration;
use crate::latency::{
    AFTER_RESEED, EMPTY, HARVESTING, Latency, OF_A_HERD, OF_NO_HERD, WITHOUT_RESEED,
};
use crate::page::Section;
use crate::report::Report;
use crate::subjects::name;
use wellspring::Mode;

const MARKS: [&str; 7] = [
    "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "5 nines", "6 nines",
];

pub(super) fn section(report: &Report) -> Section {
    let most = report
        .latencies
        .iter()
        .map(|one| one.threads)
        .filter(|&threads| threads <= report.host.cpus);
    let most = most.max().unwrap_or(1);
    let default = Mode::PerThread.name();
    let modes = |threads| MODES.map(|mode| (mode.name(), threads)).to_vec();
    let mut groups = vec![
        ("One thread".to_owned(), modes(1)),
        (
            "Beside the operating system".to_owned(),
            vec![(default, 1), (name::GETRANDOM, 1), (EMPTY, 1)],
        ),
    ];
    if most > 1 {
        groups.push((format!("{most} threads at once"), modes(most)));
        let system = vec![(default, most), (name::GETRANDOM, most), (EMPTY, most)];
        groups.push((format!("{most} threads, beside the system"), system));
    }
    let drawn = groups.into_iter().filter_map(|(title, wanted)| {
        let found = wanted.iter().filter_map(|&(name, threads)| {
            report
                .latencies
                .iter()
                .find(|one| one.name == name && one.threads == threads)
        });
        draw(&title, &found.collect::<Vec<_>>())
    });
    let rare = [
        (
            "Reads that have more to do",
            [AFTER_RESEED, WITHOUT_RESEED, HARVESTING].as_slice(),
        ),
        ("Many threads on few CPUs", &[OF_A_HERD, OF_NO_HERD]),
    ];
    let rare = rare.into_iter().filter_map(|(title, names)| {
        let found = names
            .iter()
            .filter_map(|&name| report.latencies.iter().find(|one| one.name == name));
        draw(title, &found.collect::<Vec<_>>())
    });
    Section {
        title: "Latency of a 32-byte read".into(),
        words: format!(
            "Lower is faster; the scale is logarithmic. To the right: rarer reads. The dashed line, {EMPTY}, reads nothing: \
             it shows the cost of the clock, interrupts and other programs, which are in all lines."
        ),
        drawings: drawn.chain(rare).collect(),
    }
}

fn draw(title: &str, latencies: &[&Latency]) -> Option<Drawing> {
    let series = latencies
        .iter()
        .filter(|one| one.calls > 0)
        .take(MAX_SERIES)
        .map(|one| Series {
            name: one.name.clone(),
            is_dashed: one.name == EMPTY,
            points: one
                .by_quarter_nines
                .iter()
                .enumerate()
                .map(|(place, &ns)| point(place, ns))
                .collect(),
        });
    let series: Vec<Series> = series.collect();
    let longest = series.iter().map(|one| one.points.len()).max()? - 1;
    let costs = series
        .iter()
        .flat_map(|one| one.points.iter().map(|point| point.y));
    let marks = MARKS.iter().enumerate().take(longest / 4 + 1);
    let lines = Lines {
        title: title.into(),
        x: Axis {
            label: "share of the reads that take no longer".into(),
            is_logarithmic: false,
            ticks: marks
                .map(|(nines, name)| (nines as f64, name.to_string()))
                .collect(),
            from: -0.15,
            to: (longest as f64 / 4.0).max(1.0) + 0.15,
        },
        y: Axis::logarithmic("time of one read", costs, duration),
        series,
        ideal: Vec::new(),
    };
    Some(lines.draw())
}

fn point(place: usize, ns: f64) -> Point {
    let nines = place as f64 / 4.0;
    let share = 100.0 * (1.0 - 10_f64.powf(-nines));
    let words = match place {
        0 => format!("half of the reads within {}", duration(ns)),
        _ => format!("{share:.4} % of the reads within {}", duration(ns)),
    };
    Point {
        x: nines,
        y: ns.max(0.1),
        words,
    }
}
