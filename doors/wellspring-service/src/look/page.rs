//! The live page: one document with its style and its script, and a part that replaces itself every second.

use super::charts::{amount, drawings};
use super::problems::problems;
use crate::doors::Door;
use crate::meters::get;
use crate::sources::SourceState;
use crate::state::State;
use wellspring_bench::chart::{STYLE, escape};
use wellspring_bench::page::STYLE as PAGE_STYLE;

/// The whole page.
pub(super) fn page(state: &State) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>wellspringd</title>\n<style>\n{STYLE}{PAGE_STYLE}{}</style>\n</head>\n<body>\n<header>\n\
         <h1>wellspringd {} <span id=\"connection\" class=\"live\">live</span></h1>\n</header>\n\
         <main>\n{}</main>\n<script>\n{}</script>\n</body>\n</html>\n",
        include_str!("live.css"),
        env!("CARGO_PKG_VERSION"),
        live(state),
        include_str!("live.js"),
    )
}

/// The part that changes.
pub(super) fn live(state: &State) -> String {
    let drawings = drawings(state);
    let figures = drawings
        .iter()
        .map(|drawing| format!("<figure>\n{}</figure>\n", drawing.inline()));
    format!(
        "{}<section>\n<div class=\"charts\">\n{}</div>\n</section>\n{}{}{}{}{}",
        verdict(state),
        figures.collect::<String>(),
        doors(state),
        sources(state),
        connections(state),
        users(state),
        notices(state),
    )
}

fn verdict(state: &State) -> String {
    let problems = problems(state);
    let stats = state.engine.stats();
    let words = format!(
        "{}, generation {}, last reseed {} s ago, up {} s, {} and {}",
        stats.phase,
        stats.generation,
        state.seed_age().as_secs(),
        state.started().elapsed().as_secs(),
        stats.mode,
        stats.backend,
    );
    if problems.is_empty() {
        return format!(
            "<p class=\"good\"><strong>All is well.</strong> {}.</p>\n",
            escape(&words)
        );
    }
    let items = problems
        .iter()
        .map(|problem| format!("<li>{}</li>\n", escape(problem)));
    format!(
        "<div class=\"bad\" role=\"alert\"><strong>Look here:</strong>\n<ul>\n{}</ul>\n<p>{}.</p></div>\n",
        items.collect::<String>(),
        escape(&words)
    )
}

/// A table under a heading. Cells are text, except for those that [`marked`] made.
fn table(title: &str, words: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return format!(
            "<section>\n<h2>{title}</h2>\n<p>{words} There are none.</p>\n</section>\n"
        );
    }
    let is_text = |column: usize| !rows.iter().all(|row| is_figure(&row[column]));
    let class = |column| {
        if is_text(column) {
            " class=\"text\""
        } else {
            ""
        }
    };
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        let cell = |(column, cell)| format!("<{tag}{}>{cell}</{tag}>", class(column));
        cells.enumerate().map(cell).collect()
    };
    let heads = cells("th", &mut head.iter().copied());
    let row = |row: &Vec<String>| {
        let cells = cells("td", &mut row.iter().map(String::as_str));
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<section>\n<h2>{title}</h2>\n<p>{words}</p>\n<div class=\"scroll\"><table>\n<thead><tr>{heads}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n</section>\n"
    )
}

/// Whether a cell is a figure, or stands for one that is missing. Figures are aligned at their right, and text at its left.
fn is_figure(cell: &str) -> bool {
    cell == "-" || cell.starts_with(|first: char| first.is_ascii_digit())
}

/// A state, marked if it is not as it should be.
fn marked(text: &str, is_good: bool) -> String {
    let class = if is_good { "state" } else { "state off" };
    format!("<span class=\"{class}\">{}</span>", escape(text))
}

fn doors(state: &State) -> String {
    let rows: Vec<Vec<String>> = Door::ALL
        .into_iter()
        .map(|door| {
            let meter = state.doors.meter(door);
            let latencies = meter.latencies.counts();
            let at_most = latencies.quantile_ns(990);
            vec![
                door.name().into(),
                amount(get(&meter.bytes) as f64, "B"),
                latencies.requests().to_string(),
                at_most.map_or("-".into(), |ns| format!("{} us", (ns / 1000).max(1))),
                get(&meter.open_now).to_string(),
                get(&meter.refused).to_string(),
                get(&meter.hostile).to_string(),
            ]
        })
        .collect();
    let openings = state.doors.openings().into_iter().map(|opening| {
        let text = opening.fault.as_deref().unwrap_or("open");
        vec![
            escape(opening.name),
            marked(text, opening.fault.is_none()),
            escape(&opening.place),
        ]
    });
    let head = [
        "door",
        "handed out",
        "requests",
        "99 % took at most",
        "open now",
        "refused",
        "hostile",
    ];
    let mut html = table("Doors", "Where bytes leave, since the start.", &head, &rows);
    let openings: Vec<Vec<String>> = openings.collect();
    html += &table(
        "Openings",
        "What the configuration asks for.",
        &["kind", "state", "place"],
        &openings,
    );
    html
}

fn sources(state: &State) -> String {
    let stats = state.engine.stats();
    let rows: Vec<Vec<String>> = stats
        .sources
        .iter()
        .map(|source| {
            let state = SourceState::of(source);
            vec![
                escape(source.name),
                marked(state.name(), !state.is_fault()),
                escape(source.health.name()),
                amount(source.bytes as f64, "B"),
                format!("{} bits", source.credited_bits),
                amount(source.discarded_bytes as f64, "B"),
                source.intermittent_failures.to_string(),
                source.permanent_failures.to_string(),
                source.errors.to_string(),
                source
                    .last_error
                    .map_or("-".into(), |error| escape(&error.to_string())),
            ]
        })
        .collect();
    let head = [
        "source",
        "state",
        "health tests",
        "used",
        "credited",
        "tested, not used",
        "intermittent failures",
        "permanent failures",
        "errors",
        "last error",
    ];
    table(
        "Sources",
        "Where noise comes from, with what its health tests say.",
        &head,
        &rows,
    )
}

fn connections(state: &State) -> String {
    let rows: Vec<Vec<String>> = state
        .connections
        .greatest(20)
        .iter()
        .map(|(number, meter)| {
            vec![
                number.to_string(),
                meter.door.name().into(),
                meter.peer.to_string(),
                meter
                    .process
                    .map_or("-".into(), |process| process.to_string()),
                format!("{} s", meter.since.elapsed().as_secs()),
                amount(get(&meter.bytes) as f64, "B"),
                get(&meter.requests).to_string(),
                get(&meter.faulty).to_string(),
            ]
        })
        .collect();
    let words = "The 20 that drew most. A virtual machine is its QEMU process. A faulty request of one got no bytes.";
    let head = [
        "connection",
        "door",
        "user",
        "process",
        "open for",
        "drawn",
        "requests",
        "faulty requests",
    ];
    table("Connections", words, &head, &rows)
}

fn users(state: &State) -> String {
    let users = state.users.greatest(50);
    let rows = users.iter().map(|(peer, meter)| {
        vec![
            peer.to_string(),
            amount(get(&meter.bytes) as f64, "B"),
            get(&meter.requests).to_string(),
            get(&meter.connections).to_string(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = ["user", "drawn", "requests", "connections"];
    table(
        "Users",
        "The 50 that drew most, by user number, at all doors together.",
        &head,
        &rows,
    )
}

fn notices(state: &State) -> String {
    let rows: Vec<Vec<String>> = state
        .notices
        .last()
        .iter()
        .map(|notice| {
            vec![
                format!("{} s ago", notice.ago_s()),
                marked(&notice.words, !notice.is_fault),
            ]
        })
        .collect();
    let words = "Clones, failures of sources, orders: the newest first.";
    table("Time line", words, &["when", "what"], &rows)
}
