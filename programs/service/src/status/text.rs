//! The status as text, for people: a terminal and a browser show the same.

use serde_json::Value;

/// The tables: the keys of their lists in the status, and the keys of their columns.
const TABLES: [(&str, &str); 7] = [
    ("openings", "name place open fault"),
    (
        "doors",
        "name bytes requests p99_ns open_now refused hostile",
    ),
    ("nodes", "credit_bits reseeds fetches"),
    (
        "sources",
        "name state health used_bytes credited_bits errors last_error",
    ),
    ("users", "user bytes requests connections"),
    (
        "connections",
        "number door user process open_for_s bytes requests faulty_requests",
    ),
    ("notices", "ago_s words"),
];

/// The status as text for people.
pub fn text(status: &Value) -> String {
    let mut text = String::new();
    let problems = rows(status, "problems");
    if problems.is_empty() {
        text += "All is well.\n";
    }
    for problem in problems {
        text += &format!("! {}\n", plain(problem));
    }
    text += &format!(
        "\n{} {}, process {}, up {} s: {}, generation {}, last reseed {} s ago, {} with {}\n",
        "wellspringd",
        plain(&status["version"]),
        plain(&status["process"]),
        plain(&status["uptime_s"]),
        plain(&status["phase"]),
        plain(&status["generation"]),
        plain(&status["seed_age_s"]),
        plain(&status["mode"]),
        plain(&status["backend"]),
    );
    text += &pools(status);
    for (key, columns) in TABLES {
        let rows = rows(status, key);
        if rows.is_empty() {
            continue;
        }
        let columns: Vec<&str> = columns.split(' ').collect();
        let head = columns.iter().map(|column| match *column {
            // Of an opening, a door, a source.
            "name" => key.trim_end_matches('s').into(),
            _ => column.replace('_', " "),
        });
        let mut cells = vec![head.collect::<Vec<String>>()];
        let cells_of = |row: &Value| columns.iter().map(|column| plain(&row[column])).collect();
        cells.extend(rows.iter().map(cells_of));
        text += &format!("\n{}", table(&cells));
    }
    text
}

/// The fill of the pools, in one line.
fn pools(status: &Value) -> String {
    let pools = rows(status, "pools");
    if pools.is_empty() {
        return String::new();
    }
    let bytes: Vec<String> = pools.iter().map(|pool| plain(&pool["bytes"])).collect();
    format!(
        "\nbytes in pools 0 to {}: {}\n",
        pools.len() - 1,
        bytes.join(" ")
    )
}

fn rows<'a>(status: &'a Value, key: &str) -> &'a [Value] {
    status[key].as_array().map_or(&[], Vec::as_slice)
}

/// A value without quotes, and without characters that a terminal obeys.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace(char::is_control, "?"),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}

/// Columns as wide as their widest cell, two spaces apart.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let line: String = cells
            .map(|(cell, width)| format!("{cell:width$}  "))
            .collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn problems_come_first_and_missing_values_are_dashes() {
        let status = json!({
            "problems": ["Node 1 is starved."],
            "openings": [{"name": "egd", "place": "x.sock", "open": true, "fault": null}],
        });
        let text = text(&status);
        assert!(text.starts_with("! Node 1 is starved.\n"), "{text}");
        assert!(
            text.contains("opening  place   open  fault\negd      x.sock  true  -\n"),
            "{text}"
        );
    }

    #[test]
    fn words_of_others_do_not_command_the_terminal() {
        let status = json!({"problems": ["\u{1b}[2J\u{9b}2J\nno problem"]});
        assert!(text(&status).starts_with("! ?[2J?2J?no problem\n"));
    }
}
