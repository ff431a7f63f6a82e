//! The ladder of `wellspring bench`, with everyone else's generators on it: `cargo xtask bench`.
//!
//! Outside the workspace, so that a C library, a C compiler and two other languages stay out of the
//! product's dependency tree.

mod peers;

use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use wellspring_bench::{Options, Progress, first_byte, model, run};

const USAGE: &str = "usage: wellspring-peers [--quick] [--model] [--json FILE] [--report FILE.html] \
                     [--section throughput|latency|harvest|blocks|footprint]";

/// Prints the time to the first byte, and nothing else: how this program starts itself afresh.
const FIRST_BYTE: &str = "--first-byte";

/// What the command line asks for.
#[derive(Default)]
struct Arguments {
    quick: bool,
    model: bool,
    section: Option<String>,
    json: Option<PathBuf>,
    report: Option<PathBuf>,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut arguments = Self::default();
        while let Some(word) = words.next() {
            match word.to_str()? {
                "--quick" => arguments.quick = true,
                "--model" => arguments.model = true,
                "--section" => arguments.section = Some(words.next()?.into_string().ok()?),
                "--json" => arguments.json = Some(words.next()?.into()),
                "--report" => arguments.report = Some(words.next()?.into()),
                _ => return None,
            }
        }
        Some(arguments)
    }

    fn options(&self) -> Result<Options, Box<dyn Error>> {
        let mut options = match self.quick {
            true => Options::quick(),
            false => Options::default(),
        };
        options.only = self.section.as_deref().map(str::parse).transpose()?;
        let this = std::env::current_exe()?;
        options.first_byte_command = Some(vec![this.into(), FIRST_BYTE.into()]);
        Ok(options)
    }
}

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == FIRST_BYTE)
    {
        println!("{}", first_byte().as_nanos());
        return ExitCode::SUCCESS;
    }
    let Some(arguments) = Arguments::parse(std::env::args_os().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match bench(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wellspring-peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut bar = Bar(ProgressBar::hidden());
    let (table, json, html) = match arguments.model {
        true => {
            let report = model::run(&model::Costs::measure());
            (report.table(), report.json(), report.html())
        }
        false => {
            let report = run(&arguments.options()?, peers::all(), &mut bar);
            (report.table(), report.json(), report.html())
        }
    };
    bar.0.finish_and_clear();
    print!("{table}");
    for (file, text) in [(&arguments.json, json), (&arguments.report, html)] {
        if let Some(file) = file {
            std::fs::write(file, text)?;
        }
    }
    Ok(())
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
