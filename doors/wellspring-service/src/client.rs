//! `wellspringd status`: asks the running service for its status, and prints it.

use crate::config::{Address, Config};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use wellspring_os::trusted_file::check_listener;
use wellspring_os::unix_socket::connect_within;

/// The longest wait for an answer. A service that works answers at once.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The most bytes of an answer. With 50 users and 50 connections it has some 30,000.
const MAX_BYTES: usize = 1 << 22;

/// The status of the service that this configuration describes.
///
/// # Errors
///
/// The reason why there is none, in a line.
pub fn status(config: &Config) -> Result<Value, String> {
    let mut last = "the configuration has no [web] socket".to_owned();
    for address in &config.web.listen {
        match get(config, address) {
            Ok(body) => {
                let value = serde_json::from_slice(&body);
                return value.map_err(|error| format!("{address}: {error}"));
            }
            Err(error) => last = format!("{}: {error}", shown(config, address)),
        }
    }
    Err(format!("no service answers: {last}"))
}

fn shown(config: &Config, address: &Address) -> String {
    match address {
        Address::Unix(path) => config.runtime_path(path).display().to_string(),
        Address::Tcp(_) | Address::Vsock { .. } => address.to_string(),
    }
}

fn get(config: &Config, address: &Address) -> io::Result<Vec<u8>> {
    match address {
        Address::Unix(path) => {
            let path = config.runtime_path(path);
            let stream = connect_within(&path, TIMEOUT)?;
            check_listener(&stream, &path).map_err(|fault| {
                let words =
                    format!("another user listens there, and the folder is not safe: {fault}");
                io::Error::new(io::ErrorKind::PermissionDenied, words)
            })?;
            ask(stream)
        }
        Address::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, TIMEOUT)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            ask(stream)
        }
        Address::Vsock { .. } => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the service gives no status by vsock",
        )),
    }
}

/// Another user may listen at an address of TCP, and answer without end.
fn ask(mut stream: impl Read + Write) -> io::Result<Vec<u8>> {
    stream.write_all(b"GET /status.json HTTP/1.1\r\n\r\n")?;
    let until = Instant::now() + TIMEOUT;
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    let mut is_good = true;
    while is_good {
        match stream.read(&mut part)? {
            0 => break,
            length => answer.extend_from_slice(&part[..length]),
        }
        is_good = answer.len() <= MAX_BYTES && Instant::now() < until;
    }
    is_good &= answer.starts_with(b"HTTP/1.1 200 ");
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n");
    match body {
        Some(end) if is_good => Ok(answer.split_off(end + 4)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "this is not the service",
        )),
    }
}

/// The tables of the text: a key of the status, the title of its first column, and the keys of its columns.
const TABLES: [(&str, &str, &str); 7] = [
    ("openings", "opening", "name place open fault"),
    (
        "doors",
        "door",
        "name bytes requests p99_ns open_now refused hostile",
    ),
    ("nodes", "credit_bits", "credit_bits reseeds fetches"),
    (
        "sources",
        "source",
        "name state health used_bytes credited_bits errors last_error",
    ),
    ("users", "user", "user bytes requests connections"),
    (
        "connections",
        "number",
        "number door user process open_for_s bytes requests faulty_requests",
    ),
    ("notices", "ago_s", "ago_s words"),
];

/// The status as text for people.
#[must_use]
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
    for (key, first, columns) in TABLES {
        let rows = rows(status, key);
        if rows.is_empty() {
            continue;
        }
        let head = core::iter::once(first).chain(columns.split(' ').skip(1));
        let mut cells = vec![head.map(|name| name.replace('_', " ")).collect()];
        let row = |row: &Value| {
            columns
                .split(' ')
                .map(|column| plain(&row[column]))
                .collect()
        };
        cells.extend(rows.iter().map(row));
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

    /// Sends this again and again.
    struct Endless(&'static [u8]);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            (&*self.0).read(buffer)
        }
    }

    impl Write for Endless {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_answer_without_end_and_one_that_commands_the_terminal_do_no_harm() {
        let fault = ask(Endless(b"HTTP/1.1 200 OK\r\n\r\n")).unwrap_err();
        assert_eq!(fault.kind(), io::ErrorKind::InvalidData);
        let status = json!({"problems": ["\u{1b}[2J\u{9b}2J\nno problem"]});
        assert!(text(&status).starts_with("! ?[2J?2J?no problem\n"));
    }

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
}
