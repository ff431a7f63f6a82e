//! The figures of this machine's CPU model, from docs/measurements/curves, beside this run's figures.
//!
//! The comparison uses a ratio within one run, wellspring's throughput to the throughput of `rand::rng()`: the load of a machine
//! changes it less than a throughput.

use crate::peers::names::RAND;
use serde_json::Value;
use std::path::Path;
use wellspring::Mode;
use wellspring_bench::Report;
use wellspring_bench::generators::Request::{self, Fill};
use wellspring_bench::figures::Table;

const FOLDER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/measurements/curves"
);
const OURS: &str = Mode::PerThread.name();
/// The requests that a file of the folder has. Its figures of modes with a lock depend on the load too much.
const REQUESTS: [Request; 3] = [Fill(32), Fill(4096), Fill(65_536)];

/// The file of a CPU.
fn of_cpu(cpu: &str) -> Option<Value> {
    let files = std::fs::read_dir(Path::new(FOLDER)).ok()?.flatten();
    let read = |path| serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok();
    let mut all = files.filter_map(|file| read(file.path()));
    all.find(|file: &Value| file["host"]["cpu"] == cpu)
}

/// One thread's throughput in a file.
fn throughput(file: &Value, name: &str, request: Request) -> Option<f64> {
    let is_wanted = |row: &&Value| {
        row["name"] == name && row["request"] == request.name().as_str() && row["threads"] == 1
    };
    let row = file["throughput"].as_array()?.iter().find(is_wanted)?;
    row["bytes_per_second"].as_f64()
}

fn ratio(file: &Value, request: Request) -> Option<f64> {
    Some(throughput(file, OURS, request)? / throughput(file, RAND, request)?)
}

/// This run's ratios beside the model's. `None` without throughput in the report.
pub(crate) fn table(report: &Report) -> Option<Table> {
    if report.throughput.is_empty() {
        return None;
    }
    let cpu = &report.host.cpu;
    let Some(file) = of_cpu(cpu) else {
        let title = format!("No baseline of {cpu}: docs/measurements says how to add one");
        return Some(Table::new(title, &[]));
    };
    Some(compare(report, &file))
}

fn compare(report: &Report, file: &Value) -> Table {
    let date = file["date"].as_str().unwrap_or_default();
    let load = &file["host"]["load"];
    let title = format!(
        "{}: {OURS} as times {RAND}, beside this make's baseline of {date}, load {load}",
        report.host.cpu
    );
    let mut table = Table::new(title, &["", "then", "now", ""]);
    for request in REQUESTS {
        let found = report.times(OURS, RAND, request);
        if let (Some(then), Some(now)) = (ratio(file, request), found) {
            table.rows.push(vec![
                request.name(),
                format!("{then:.2}x"),
                format!("{now:.2}x"),
                format!("{:+.0} %", (now / then - 1.0) * 100.0),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_found_by_its_cpu_and_has_every_ratio() {
        let mut files = 0;
        for file in std::fs::read_dir(FOLDER).unwrap().flatten() {
            if file.path().extension().is_none_or(|end| end != "json") {
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(file.path()).unwrap();
            let file: Value = serde_json::from_str(&text).unwrap();
            let cpu = file["host"]["cpu"].as_str().unwrap();
            assert!(of_cpu(cpu).is_some(), "{cpu}");
            let has = |request| ratio(&file, request).is_some();
            assert!(REQUESTS.into_iter().all(has), "{cpu}");
        }
        assert!(files > 1);
        assert!(of_cpu("another").is_none());
    }
}
