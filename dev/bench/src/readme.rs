//! The table and the picture of the README: five sizes, five generators.

use crate::peers::name as peer;
use wellspring::Mode;
use wellspring_bench::Report;
use wellspring_bench::chart::{Bar, Bars, Drawing, Tint};
use wellspring_bench::contender::Work;
use wellspring_bench::format::{duration, rate};
use wellspring_bench::subjects::name;
use wellspring_bench::table::Table;
use wellspring_bench::throughput::Measurement;

const WORKS: [Work; 5] = [
    Work::Word,
    Work::Fill(32),
    Work::Fill(256),
    Work::Fill(4096),
    Work::Fill(1 << 20),
];
/// The sizes in the picture, which has to fit on a screen beside the text.
const PICTURED: [Work; 3] = [Work::Word, Work::Fill(32), Work::Fill(1 << 20)];
/// Wellspring and the others, by the name in the table and in the run.
const ROWS: [(&str, &str); 5] = [
    ("wellspring", OURS),
    (peer::RAND, peer::RAND),
    (peer::OPENSSL_RAND, peer::OPENSSL_RAND),
    ("getrandom, vDSO", name::VDSO),
    (name::GETRANDOM, name::GETRANDOM),
];
const OURS: &str = Mode::PerThread.name();

fn find<'a>(report: &'a Report, name: &str, work: Work) -> Option<&'a Measurement> {
    // The u64 of wellspring is the function of the crate's root.
    let name = if name == OURS && work == Work::Word {
        self::name::GLOBAL
    } else {
        name
    };
    report.find(name, work, 1)
}

fn label(one: &Measurement) -> String {
    if one.work.bytes() < 4096 {
        duration(one.ns_per_request())
    } else {
        rate(one.bytes_per_second())
    }
}

/// Times of small reads, rates of long ones; a dash for what this machine does not have.
fn table(report: &Report) -> Table {
    let names: Vec<String> = WORKS.iter().map(|work| work.name()).collect();
    let head: Vec<&str> = std::iter::once("one thread")
        .chain(names.iter().map(String::as_str))
        .collect();
    let mut table = Table::new("", &head);
    for (title, name) in ROWS {
        let cells = WORKS.map(|work| find(report, name, work).map_or("-".into(), label));
        table
            .rows
            .push(std::iter::once(title.to_owned()).chain(cells).collect());
    }
    table
}

/// The table in Markdown, with what it was measured on.
pub(crate) fn markdown(report: &Report) -> String {
    format!(
        "{}\n{}. {}.\n",
        table(report).markdown(),
        report.host.machine(),
        report.host.stamp()
    )
}

/// The picture.
pub(crate) fn svg(report: &Report) -> String {
    let drawing = |work: Work| {
        let bars = ROWS.iter().filter_map(|&(title, name)| {
            let one = find(report, name, work)?;
            let tint = match name {
                OURS => Tint::Ours,
                name::GETRANDOM | name::VDSO => Tint::Reference,
                _ => Tint::Other,
            };
            Some(Bar {
                name: title.into(),
                value: one.bytes_per_second(),
                label: label(one),
                tint,
            })
        });
        let bars: Vec<Bar> = bars.collect();
        let what = if work == Work::Word {
            "A u64".into()
        } else {
            work.name()
        };
        let chart = Bars {
            title: what,
            caption: "a longer bar is faster".into(),
            bars,
            mark: None,
        };
        (!chart.bars.is_empty()).then(|| chart.draw())
    };
    let drawings: Vec<Drawing> = PICTURED.into_iter().filter_map(drawing).collect();
    let host = &report.host;
    let small_print = [
        host.stamp(),
        format!("{}, {} backend", host.cpu, host.backend),
        format!("one thread, medians of {} rounds", report.rounds),
    ];
    Drawing::file(&drawings, &small_print)
}
