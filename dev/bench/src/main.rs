//! wellspring beside the generators of other projects, and a gate on speed:
//! `cargo xtask bench`.
//!
//! Outside the workspace, because the peers need a C library and a C compiler.
//!
//! ```text
//! peers    the generators of other projects
//! many     many threads, many engines
//! doors    the doors for other languages and existing programs, beside what they replace
//! numbers  numbers of all kinds, beside other crates' numbers
//! gates    the ratios that the project wants; has wellspring become slower? How many instructions does a read take?
//! ```

mod doors;
mod gates;
mod many;
mod numbers;
mod peers;

use clap::{Args, Parser};
use gates::{LOSS, LOSS_ON_BUSY_MACHINES};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use wellspring_bench::{Options, Part, first_byte, run, table};

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
    /// Measure the doors for other languages and existing programs, beside what they replace
    #[arg(long)]
    doors: bool,

    /// Measure numbers of all kinds, beside those of other crates
    #[arg(long)]
    numbers: bool,

    /// Measure many threads and engines, each at two sizes: time and memory. With NUMBER, so many threads that are alive, and a
    /// tenth as many engines
    #[arg(long, value_name = "NUMBER")]
    many: Option<Option<usize>>,

    /// Fail if a ratio is under half of what the project wants; for busy machines
    #[arg(long)]
    check_wanted: bool,

    /// Fail if wellspring lost more than 10 % against another binary of this program, with --quick 35 %; both take turns
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,

    /// Fail if a read takes more instructions than counts.json says, by 2 %; callgrind counts them
    #[arg(long)]
    counts: bool,

    /// Write counts.json anew
    #[arg(long)]
    write_counts: bool,

    #[arg(long, hide = true)]
    batches: bool,

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
    let task = &arguments.task;
    let margin = if arguments.quick {
        LOSS_ON_BUSY_MACHINES
    } else {
        LOSS
    };
    match &task.against {
        Some(old) => gates::against_binary(old, margin),
        None if task.check_wanted => gates::against_wanted(),
        None if task.ratios => Ok(gates::line()),
        None if task.first_byte => Ok(format!("{}\n", first_byte().as_nanos())),
        None if task.batches => Ok(gates::batches()),
        None if task.counts || task.write_counts => gates::gate(task.write_counts),
        None if task.numbers => Ok(numbers::run().text()),
        None if task.doors => Ok(doors::table(&doors::run()).text()),
        None => match task.many {
            Some(number) => Ok(many::run(number).text()),
            None => measure(arguments),
        },
    }
}

fn measure(arguments: &Arguments) -> Result<String, Box<dyn Error>> {
    let report = run(&options(arguments)?, peers::all());
    let doors = match arguments.only {
        None => doors::run(),
        Some(_) => Vec::new(),
    };
    if let Some(file) = &arguments.json {
        let mut figures = report.json();
        figures["doors"] = doors::json(&doors);
        std::fs::write(file, format!("{figures:#}\n"))?;
    }
    let mut output = table::text(&report);
    if !doors.is_empty() {
        output += &doors::table(&doors).text();
    }
    Ok(output)
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
        assert!(parse("--quick --check-wanted").unwrap().task.check_wanted);
        let old = parse("--against old").unwrap().task.against;
        assert_eq!(old, Some("old".into()));
        assert_eq!(parse("--many").unwrap().task.many, Some(None));
        assert_eq!(parse("--many 100").unwrap().task.many, Some(Some(100)));
        assert!(parse("--doors").unwrap().task.doors);
        assert!(parse("--numbers").unwrap().task.numbers);
        assert!(parse("--only latency").unwrap().only == Some(Part::Latency));
        assert!(parse("--counts").unwrap().task.counts);
        assert!(parse("").is_some());
        for wrong in [
            "--against",
            "--only nonsense",
            "--fast",
            "check",
            "--many --doors",
            "--many ten",
            "--counts --write-counts",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }
}
