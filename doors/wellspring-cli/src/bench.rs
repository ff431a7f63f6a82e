//! `bench`: the ladder on this machine, or machines that are not here as a model.

use crate::args::BenchRequest;
use crate::failure::Failure;
use crate::output::Output;
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::path::Path;
use wellspring_bench::{Options, Progress, first_byte, model, run as measure};

/// The hidden option with which the command starts itself afresh, to time the first byte of a process.
const FIRST_BYTE: &str = "--first-byte";

pub(crate) fn run(request: &BenchRequest) -> Result<(), Failure> {
    if request.first_byte {
        return print(&format!("{}\n", first_byte().as_nanos()));
    }
    let (table, json, page) = match request.model {
        true => {
            let report = model::run(&model::Costs::measure());
            (report.table(), report.json(), report.html())
        }
        false => {
            let mut bar = Bar(ProgressBar::hidden());
            let report = measure(&options(request)?, Vec::new(), &mut bar);
            bar.0.finish_and_clear();
            (report.table(), report.json(), report.html())
        }
    };
    print(&table)?;
    for (path, text) in [(&request.json, json), (&request.report, page)] {
        if let Some(path) = path {
            write(path, &text)?;
        }
    }
    Ok(())
}

fn options(request: &BenchRequest) -> Result<Options, Failure> {
    let mut options = match request.quick {
        true => Options::quick(),
        false => Options::default(),
    };
    options.only = request.only;
    let this = std::env::current_exe().map_err(Failure::work)?;
    let words: [OsString; 3] = [this.into(), "bench".into(), FIRST_BYTE.into()];
    options.first_byte_command = Some(words.into());
    Ok(options)
}

fn print(text: &str) -> Result<(), Failure> {
    Output::standard()?.print(text)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = std::fs::write(path, text);
    written.map_err(|error| Failure::work(format!("{}: {error}", path.display())))
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
        self.0.set_message(what.to_owned());
        self.0.inc(1);
    }
}
