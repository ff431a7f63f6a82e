//! Measures what a read costs in every mode, beside the operating system and other generators.
//!
//! ```text
//! measure   contender   the contenders, and the requests that are measured
//!           subjects    the engine, the operating system, and what memory does at best
//!           throughput  all cases in turn, in short slices, round after round
//!           latency     the distribution of single reads; herd: of many threads at a reseed
//!           harvest     feeding and reseeding beside readers; harvester: its thread beside readers
//!           blocks      the share of a loop that writes blocks which goes into its random numbers
//!           footprint   the first byte, and the memory of a tap
//!           run         all of them, one after the other
//! data      report      what a run found
//! views     summary, tables, sections: sentences, tables and drawings of a report
//! output    json, page; text and html below
//! ```
//!
//! Each line uses those above it alone. `chart` draws, and imports nothing from here.
//!
//! ```no_run
//! use wellspring_bench::{Options, html, run, text};
//! let report = run(&Options::quick(), Vec::new(), &mut ());
//! println!("{}", text(&report));
//! std::fs::write("report.html", html(&report))?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A figure is the median over rounds, a ratio the median of the rounds' ratios. In each round every case has its
//! turn: a disturbance that lasts slows all cases alike, and the median ignores a short one.

#![forbid(unsafe_code)]

pub mod blocks;
pub mod chart;
pub mod clock;
pub mod contender;
pub mod footprint;
pub mod format;
pub mod harvest;
pub mod harvester;
pub mod herd;
pub mod histogram;
pub mod host;
pub mod json;
pub mod latency;
mod options;
pub mod page;
mod progress;
mod report;
mod run;
#[cfg(test)]
mod sample;
pub mod sections;
pub mod statistics;
pub mod subjects;
pub mod summary;
pub mod table;
pub mod tables;
pub mod throughput;

pub use footprint::first_byte;
pub use options::{Options, Section, UnknownSection};
pub use progress::Progress;
pub use report::Report;
pub use run::run;

use page::Page;
use table::Table;

/// `report` for a terminal: sentences, then tables.
#[must_use]
pub fn text(report: &Report) -> String {
    let lines = [summary::headline(report)]
        .into_iter()
        .chain(summary::sentences(report));
    let lines: String = lines
        .chain([report.host.stamp(), report.host.machine()])
        .map(|line| line + "\n")
        .collect();
    let tables: String = tables::of(report).iter().map(Table::text).collect();
    format!("{lines}\n{tables}")
}

/// `report` as a page in one file, which fetches nothing.
#[must_use]
pub fn html(report: &Report) -> String {
    page(report).html()
}

/// The same before it becomes text, for programs that add to it.
#[must_use]
pub fn page(report: &Report) -> Page {
    let host = &report.host;
    let load = host.load.map_or(String::new(), |load| {
        format!(" Load at the start: {load:.2}.")
    });
    let rounds = format!("Medians of {} interleaved rounds.{load}", report.rounds);
    Page {
        title: "wellspring bench".into(),
        headline: summary::headline(report),
        header: summary::sentences(report)
            .into_iter()
            .chain([host.stamp(), host.machine(), rounds])
            .collect(),
        sections: sections::of(report),
        tables: tables::of(report),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_output_begins_with_a_number_and_names_date_version_and_commit() {
        let report = sample::report();
        let (text, html) = (text(&report), html(&report));
        assert!(
            text.starts_with("Half of all 32-byte reads take 20.0 ns"),
            "{text:.200}"
        );
        for output in [&text, &html] {
            for part in [
                "2026-01-02T03:04:05Z",
                "wellspring 1.2.3",
                "commit 0123456789ab",
            ] {
                assert!(output.contains(part), "{part}");
            }
        }
        page::assert_well_formed(&html);
    }
}
