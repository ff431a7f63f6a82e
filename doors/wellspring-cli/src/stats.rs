//! `stats`: what can be said of an engine without a secret.

use crate::args::StatsRequest;
use crate::failure::Failure;
use crate::output::Output;
use crate::size::Size;
use std::fmt::Write;
use wellspring::{SourceStats, Stats};

/// Runs the command.
pub(crate) fn run(request: &StatsRequest) -> Result<(), Failure> {
    let engine = request.engine.build()?;
    // Only for what it does to the engine.
    let _: [u8; 32] = engine.bytes();
    let stats = engine.stats();
    let text = match request.json {
        true => json(&stats),
        false => tables(&stats),
    };
    Output::standard()?.print(&text)
}

fn tables(stats: &Stats) -> String {
    let memory = match stats.unlocked_bytes {
        0 => "locked".to_string(),
        bytes => format!(
            "{} not locked: the system refused (RLIMIT_MEMLOCK)",
            Size(bytes)
        ),
    };
    let engine = [
        ["phase", &stats.phase.to_string()],
        ["mode", stats.mode.name()],
        ["backend", stats.backend.name()],
        ["generation", &stats.generation.to_string()],
        ["taps", &stats.thread_taps.to_string()],
        ["secret memory", &memory],
        ["events dropped", &stats.events_dropped.to_string()],
        ["harvester", &harvester(stats)],
        ["seed file", &seed_file(stats)],
    ];
    let mut nodes = vec![["node", "reseeds", "fetches", "credit"].map(String::from)];
    nodes.extend(stats.nodes.iter().enumerate().map(|(number, node)| {
        [
            number.to_string(),
            node.reseeds.to_string(),
            node.fetches.to_string(),
            format!("{} bits", node.credit_bits),
        ]
    }));
    let head = [
        "source",
        "claim",
        "yielded",
        "credited",
        "errors",
        "last error",
        "state",
    ];
    let mut sources = vec![head.map(String::from)];
    sources.extend(stats.sources.iter().map(|source| {
        [
            source.name.to_string(),
            format!("{} bits/byte", claimed_bits(source)),
            format!("{} bytes", source.bytes),
            format!("{} bits", source.credited_bits),
            source.errors.to_string(),
            source
                .last_error
                .map_or("-".into(), |error| error.to_string()),
            source.health.name().to_string(),
        ]
    }));
    format!(
        "The engine of this process, after its first read. Other processes have engines of their own.\n\n{}\n{}\n{}",
        table(&engine.map(|row| row.map(String::from))),
        table(&nodes),
        table(&sources)
    )
}

/// Columns as wide as their widest cell, two spaces apart.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; N] = core::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths);
        let line: String = cells
            .map(|(cell, width)| format!("{cell:width$}  "))
            .collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn json(stats: &Stats) -> String {
    let nodes = stats.nodes.iter().map(|node| {
        format!(
            "{{\"reseeds\": {}, \"fetches\": {}, \"credit_bits\": {}}}",
            node.reseeds, node.fetches, node.credit_bits
        )
    });
    let sources = stats.sources.iter().map(|source| {
        let last_error = source.last_error.map_or("null".into(), |error| quoted(&error.to_string()));
        format!(
            "{{\"name\": {}, \"claim_bits_per_byte\": {}, \"bytes\": {}, \"credited_bits\": {}, \"errors\": {}, \
             \"last_error\": {last_error}, \"health\": {}, \"intermittent_failures\": {}, \"permanent_failures\": {}, \
             \"discarded_bytes\": {}}}",
            quoted(source.name),
            claimed_bits(source),
            source.bytes,
            source.credited_bits,
            source.errors,
            quoted(source.health.name()),
            source.intermittent_failures,
            source.permanent_failures,
            source.discarded_bytes
        )
    });
    format!(
        "{{\"phase\": {}, \"seed_file\": {}, \"mode\": {}, \"backend\": {}, \"generation\": {}, \"taps\": {}, \
         \"unlocked_bytes\": {}, \"events_dropped\": {}, \"harvester\": {},\n \"nodes\": [{}],\n \"sources\": [{}]}}\n",
        quoted(&stats.phase.to_string()),
        quoted(&seed_file(stats)),
        quoted(stats.mode.name()),
        quoted(stats.backend.name()),
        stats.generation,
        stats.thread_taps,
        stats.unlocked_bytes,
        stats.events_dropped,
        harvester_json(stats),
        nodes.collect::<Vec<_>>().join(", "),
        sources.collect::<Vec<_>>().join(",\n  ")
    )
}

/// What the harvester does, in a line.
fn harvester(stats: &Stats) -> String {
    let Some(harvester) = stats.harvester else {
        return "none: readers harvest, ten times a second at most".into();
    };
    format!(
        "{}, {} rounds, {} events, {} us of CPU time, {} ms ago",
        if harvester.alive {
            "at work"
        } else {
            "late, or ended: readers harvest"
        },
        harvester.rounds,
        harvester.events,
        harvester.cpu_time_us,
        harvester.last_round_ms_ago
    )
}

/// The same as JSON.
fn harvester_json(stats: &Stats) -> String {
    stats.harvester.map_or("null".into(), |harvester| {
        format!(
            "{{\"alive\": {}, \"rounds\": {}, \"events\": {}, \"cpu_time_us\": {}, \"last_round_ms_ago\": {}}}",
            harvester.alive,
            harvester.rounds,
            harvester.events,
            harvester.cpu_time_us,
            harvester.last_round_ms_ago
        )
    })
}

/// What became of the seed file, as a line.
fn seed_file(stats: &Stats) -> String {
    let Some(seed_file) = &stats.seed_file else {
        return "none".into();
    };
    let mut line = format!(
        "found {}, written {} times",
        seed_file.found, seed_file.writes
    );
    if let Some(error) = seed_file.last_error {
        line += &format!(", then not: {error}");
    }
    if seed_file.removed_unfinished {
        line += ", an unfinished one removed";
    }
    line
}

fn claimed_bits(source: &SourceStats) -> f64 {
    f64::from(source.claim.as_256ths()) / 256.0
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        let _ = match character {
            '"' | '\\' => write!(quoted, "\\{character}"),
            '\0'..=' ' if character != ' ' => write!(quoted, "\\u{:04x}", u32::from(character)),
            _ => write!(quoted, "{character}"),
        };
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_without_spaces() {
        let rows = [["a", "bbb", "c"], ["aaa", "b", ""]].map(|row| row.map(String::from));
        assert_eq!(table(&rows), "a    bbb  c\naaa  b\n");
    }

    #[test]
    fn json_strings_are_escaped() {
        assert_eq!(quoted("a \"b\" \\ \n"), r#""a \"b\" \\ \u000a""#);
    }
}
