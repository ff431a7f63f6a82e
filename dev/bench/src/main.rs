//! wellspring beside the generators of other projects, and a gate on speed:
//! `cargo xtask bench`.
//!
//! Outside the workspace, because the peers need a C library and a C compiler.
//!
//! ```text
//! peers       the generators of other projects
//! many        many threads, many engines
//! doors       the doors for existing programs, beside what they replace
//! limits      the figures that the project wants to reach
//! regression  has wellspring become slower?
//! ```

mod doors;
mod limits;
mod many;
mod peers;
mod regression;

use clap::{Args, Parser};
use peers::names;
use regression::Effort;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wellspring::Mode;
use wellspring_bench::generator::Request;
use wellspring_bench::generators::name;
use wellspring_bench::table::Table;
use wellspring_bench::{Options, Part, Report, first_byte, run, tables};

/// Prints the time to the first byte, and nothing else: how this program starts itself.
const FIRST_BYTE: &str = "--first-byte";

/// Measures wellspring beside the generators of other projects
#[derive(Parser)]
#[command(name = "cargo xtask bench")]
struct Arguments {
    #[command(flatten)]
    task: Task,

    /// Take seconds; the figures are less exact
    #[arg(long)]
    quick: bool,

    /// Measure one part: throughput, latency, harvest or footprint
    #[arg(long, value_name = "PART", value_parser = part)]
    only: Option<Part>,

    /// Write all figures to FILE as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The job of this run. Without one it measures, with the peers.
#[derive(Args)]
#[group(multiple = false)]
struct Task {
    /// Measure, and print the README's table in Markdown
    #[arg(long)]
    readme: bool,

    /// Measure the doors for existing programs, beside what they replace
    #[arg(long)]
    doors: bool,

    /// Measure many threads and engines, each at two sizes: time and memory
    #[arg(long)]
    many: bool,

    /// Fail if wellspring lost more than 10 % against dev/bench/baseline.json; with --quick 35 %
    #[arg(long)]
    check: bool,

    /// Fail if a ratio is under half of what the project wants; for busy machines
    #[arg(long)]
    check_wanted: bool,

    /// The same as --check against another binary of this program; both take turns
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,

    /// Write the ratios of this machine into dev/bench/baseline.json
    #[arg(long)]
    save_baseline: bool,

    /// Print the ratios of the gate on one line: how --against starts both programs
    #[arg(long, hide = true)]
    ratios: bool,

    #[arg(long, hide = true)]
    first_byte: bool,
}

fn part(text: &str) -> Result<Part, String> {
    let named = Part::ALL.into_iter().find(|part| part.name() == text);
    named.ok_or_else(|| "there is no such part".into())
}

fn main() -> ExitCode {
    match work(&Arguments::parse()) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("wellspring-peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work(arguments: &Arguments) -> Result<String, Box<dyn Error>> {
    let effort = if arguments.quick {
        Effort::QUICK
    } else {
        Effort::FULL
    };
    let baseline = Path::new(env!("CARGO_MANIFEST_DIR")).join("baseline.json");
    let task = &arguments.task;
    match &task.against {
        Some(old) => regression::against_binary(old, effort),
        None if task.check => regression::against_baseline(&baseline, effort),
        None if task.check_wanted => regression::against_wanted(),
        None if task.save_baseline => regression::save(&baseline, effort),
        None if task.ratios => Ok(regression::line()),
        None if task.first_byte => Ok(format!("{}\n", first_byte().as_nanos())),
        None if task.many => Ok(many::run().text()),
        None if task.doors => Ok(doors::table(&doors::run()).text()),
        None => measure(arguments),
    }
}

fn measure(arguments: &Arguments) -> Result<String, Box<dyn Error>> {
    let report = run(&options(arguments)?, peers::all());
    let doors = match arguments.only {
        None if !arguments.task.readme => doors::run(),
        _ => Vec::new(),
    };
    if let Some(file) = &arguments.json {
        let mut figures = report.json();
        figures["doors"] = doors::json(&doors);
        std::fs::write(file, format!("{figures:#}\n"))?;
    }
    if arguments.task.readme {
        return Ok(readme(&report));
    }
    let mut output = tables::text(&report);
    if !doors.is_empty() {
        output += &doors::table(&doors).text();
    }
    Ok(output + &limits::table(&report, &doors).text())
}

fn options(arguments: &Arguments) -> Result<Options, Box<dyn Error>> {
    let mut options = if arguments.quick {
        Options::quick()
    } else {
        Options::default()
    };
    options.only = arguments.only;
    let this = std::env::current_exe()?;
    options.first_byte_command = Some(vec![this.into(), FIRST_BYTE.into()]);
    Ok(options)
}

/// The table of the README in Markdown, with what it was measured on; a dash for what this machine does not have.
fn readme(report: &Report) -> String {
    let ours = Mode::PerThread.name();
    let rows = [
        ("wellspring", ours),
        (names::RAND, names::RAND),
        (names::OPENSSL_RAND, names::OPENSSL_RAND),
        ("getrandom, vDSO", name::VDSO),
        (name::GETRANDOM, name::GETRANDOM),
    ];
    let fills = [32, 256, 4096, 1 << 20].map(Request::Fill);
    let mut table = Table::new(
        "",
        &["one thread", "u64", "32 B", "256 B", "4 KiB", "1 MiB"],
    );
    for (title, of) in rows {
        // The u64 of wellspring is the function of the crate's root.
        let of_word = if of == ours { name::GLOBAL } else { of };
        let cells = [(of_word, Request::Word)].into_iter();
        let cells = cells.chain(fills.map(|request| (of, request)));
        let cell = |(name, request)| {
            report
                .find(name, request, 1)
                .map_or("-".into(), tables::cost)
        };
        table
            .rows
            .push([title.into()].into_iter().chain(cells.map(cell)).collect());
    }
    let host = &report.host;
    format!(
        "{}\n{}. {}.\n",
        table.markdown(),
        host.machine(),
        host.stamp()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Option<Arguments> {
        let words = ["bench"].into_iter().chain(line.split_whitespace());
        Arguments::try_parse_from(words).ok()
    }

    #[test]
    fn each_task_has_its_word_and_an_unknown_word_or_a_second_task_is_refused() {
        Arguments::command().debug_assert();
        assert!(parse("--quick --check").unwrap().task.check);
        assert!(parse("--check-wanted").unwrap().task.check_wanted);
        let old = parse("--against old").unwrap().task.against;
        assert_eq!(old, Some("old".into()));
        assert!(parse("--many").unwrap().task.many);
        assert!(parse("--doors").unwrap().task.doors);
        assert!(parse("--only latency").unwrap().only == Some(Part::Latency));
        assert!(parse("").is_some());
        for wrong in [
            "--against",
            "--only nonsense",
            "--fast",
            "check",
            "--many --doors",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }
}
