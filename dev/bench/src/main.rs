//! wellspring beside the generators of other projects, and a gate on speed:
//! `cargo xtask bench`.
//!
//! Outside the workspace, because the peers need a C library, a C compiler, Go and Python.
//!
//! ```text
//! arguments  the command line
//! peers      the generators of other projects
//! many       many threads, many engines
//! doors      the doors for existing programs, beside what they replace
//! targets    the figures that the project wants to reach
//! readme     the table and the picture of the README
//! gate       has wellspring become slower?
//! ```

mod arguments;
mod doors;
mod gate;
mod many;
mod peers;
mod readme;
mod targets;

use arguments::{Arguments, Task, USAGE};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use wellspring_bench::{Options, Progress, first_byte, json as figures, page, run, text};

fn main() -> ExitCode {
    let Some(arguments) = Arguments::parse(std::env::args_os().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match work(&arguments) {
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
        gate::Effort::QUICK
    } else {
        gate::Effort::FULL
    };
    let baseline = Path::new(env!("CARGO_MANIFEST_DIR")).join("baseline.json");
    match &arguments.task {
        Task::FirstByte => Ok(format!("{}\n", first_byte().as_nanos())),
        Task::Ratios => Ok(gate::line(&gate::measure(gate::Effort::QUICK)) + "\n"),
        Task::Check => gate::against_baseline(&baseline, effort),
        Task::CheckWanted => gate::against_wanted(),
        Task::Against(old) => gate::against_binary(old, effort),
        Task::SaveBaseline => gate::save(&baseline, effort),
        Task::Many => Ok(many::run().text()),
        Task::Doors => Ok(doors::table(&doors::run()).text()),
        Task::Measure => measure(arguments),
    }
}

fn measure(arguments: &Arguments) -> Result<String, Box<dyn Error>> {
    let mut bar = Bar(ProgressBar::hidden());
    let report = run(&options(arguments)?, peers::all(), &mut bar);
    bar.0.finish_and_clear();
    let doors = match arguments.only {
        None => doors::run(),
        Some(_) => Vec::new(),
    };
    let targets = targets::table(&report, doors::targets(&doors));
    let mut page = wellspring_bench::page(&report);
    let mut figures = figures::report(&report);
    let mut output = text(&report);
    if arguments.only.is_none() {
        let doors_table = doors::table(&doors);
        output += &doors_table.text();
        page.tables.push(doors_table);
        figures["doors"] = doors::json(&doors);
    }
    output += &targets.text();
    page.tables.push(targets);
    if let Some(picture) = &arguments.readme {
        if let Some(folder) = picture.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(picture, readme::svg(&report))?;
        output = readme::markdown(&report);
    }
    write(arguments, &figures, &page)?;
    Ok(output)
}

fn write(arguments: &Arguments, figures: &Value, page: &page::Page) -> Result<(), Box<dyn Error>> {
    if let Some(file) = &arguments.json {
        std::fs::write(file, format!("{:#}\n", json!(figures)))?;
    }
    if let Some(file) = &arguments.report {
        std::fs::write(file, page.html())?;
    }
    Ok(())
}

fn options(arguments: &Arguments) -> Result<Options, Box<dyn Error>> {
    let mut options = if arguments.quick {
        Options::quick()
    } else {
        Options::default()
    };
    options.only = arguments.only;
    let this = std::env::current_exe()?;
    options.first_byte_command = Some(vec![this.into(), arguments::FIRST_BYTE.into()]);
    Ok(options)
}

/// The bar on stderr, if that is a terminal.
struct Bar(ProgressBar);

impl Progress for Bar {
    fn begin(&mut self, steps: usize) {
        let style = ProgressStyle::with_template("[{bar:30}] {pos} of {len}, ETA {eta}  {msg}");
        let style = style.expect("the template is fixed").progress_chars("=> ");
        self.0 = ProgressBar::new(steps as u64).with_style(style);
    }

    fn step(&mut self, what: &str) {
        self.0.set_message(what.to_string());
        self.0.inc(1);
    }
}
