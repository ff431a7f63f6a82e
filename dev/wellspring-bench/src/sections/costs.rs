//! The cost of reads, beside others, as bars.

use crate::chart::{Bar, Bars, Drawing, Tint};
use crate::contender::{Family, Work};
use crate::format::{duration, rate};
use crate::page::Section;
use crate::report::Report;
use crate::subjects::name;
use crate::throughput::Measurement;

/// The u64 first, then a key and a message.
pub(super) fn small(report: &Report) -> Section {
    let works = [
        (Work::Word, "A u64"),
        (Work::Fill(32), "A key of 32 bytes"),
        (Work::Fill(256), "256 bytes"),
    ];
    Section {
        title: "Small reads".into(),
        words: "One thread. A longer bar is faster; the figure is the time of one read. Blue: wellspring. \
                Orange: the operating system. Grey: others; fastrand, xoshiro and NumPy are not fit for keys."
            .into(),
        drawings: works
            .into_iter()
            .filter_map(|(work, title)| bars(report, work, title, "reads per second", |one| duration(one.ns_per_request())))
            .chain(helpers(report))
            .collect(),
    }
}

/// A page, a pipe, a lot.
pub(super) fn long(report: &Report) -> Section {
    let works = [(4096, "4 KiB"), (65_536, "64 KiB"), (1 << 20, "1 MiB")];
    Section {
        title: "Long reads".into(),
        words: "One thread. A longer bar is faster.".into(),
        drawings: works
            .into_iter()
            .filter_map(|(bytes, title)| {
                bars(
                    report,
                    Work::Fill(bytes),
                    title,
                    "bytes per second",
                    |one| rate(one.bytes_per_second()),
                )
            })
            .collect(),
    }
}

/// All at `work`, the fastest first, but for what has a chart of its own.
fn bars(
    report: &Report,
    work: Work,
    title: &str,
    caption: &str,
    label: impl Fn(&Measurement) -> String,
) -> Option<Drawing> {
    let is_shown = |family| !matches!(family, Family::Backend | Family::Helper | Family::Limit);
    let found = report.measurements.iter();
    let mut found: Vec<&Measurement> = found
        .filter(|one| one.work == work && one.threads == 1 && is_shown(one.family))
        .collect();
    found.sort_by(|one, other| other.bytes_per_second().total_cmp(&one.bytes_per_second()));
    let bars = found.iter().map(|one| bar(one, label(one)));
    draw(title, caption, bars.collect())
}

/// The functions that make one value, and the u64 of the crate's root to compare with.
fn helpers(report: &Report) -> Option<Drawing> {
    let found = report.measurements.iter().filter(|one| {
        let is_root = one.name == name::GLOBAL;
        one.threads == 1 && (one.family == Family::Helper || is_root)
    });
    let bars: Vec<Bar> = found
        .map(|one| bar(one, duration(one.ns_per_request())))
        .collect();
    (bars.len() > 1)
        .then(|| draw("Helpers of the crate", "calls per second", bars))
        .flatten()
}

/// The bare keystreams, in the cache and out of it.
pub(super) fn backends(report: &Report) -> Section {
    let mut works: Vec<Work> = Vec::new();
    for one in report
        .measurements
        .iter()
        .filter(|one| one.family == Family::Backend)
    {
        if !works.contains(&one.work) {
            works.push(one.work);
        }
    }
    let drawing = |work: Work| {
        let found = report
            .measurements
            .iter()
            .filter(|one| one.family == Family::Backend && one.work == work);
        let bars = found.map(|one| bar(one, rate(one.bytes_per_second())));
        draw(
            &format!("Into a buffer of {}", work.name()),
            "bytes per second",
            bars.collect(),
        )
    };
    Section {
        title: "Ciphers without an engine".into(),
        words: "One thread. Bare keystreams on every backend that this CPU has. 16 KiB fit into the first-level cache."
            .into(),
        drawings: works.into_iter().filter_map(drawing).collect(),
    }
}

fn draw(title: &str, caption: &str, bars: Vec<Bar>) -> Option<Drawing> {
    let chart = Bars {
        title: title.into(),
        caption: caption.into(),
        bars,
        mark: None,
    };
    (!chart.bars.is_empty()).then(|| chart.draw())
}

fn bar(one: &Measurement, label: String) -> Bar {
    let tint = if one.is_ours() {
        Tint::Ours
    } else if one.family == Family::System {
        Tint::Reference
    } else {
        Tint::Other
    };
    Bar {
        name: one.name.clone(),
        value: one.bytes_per_second(),
        label,
        tint,
    }
}
