//! `replay FILE...`: known answers through the engine's own pipeline.

use crate::arguments::{available, named};
use crate::streams::{Failure, Input, Output, lines};
use clap::Args;
use std::fmt::Write;
use std::path::PathBuf;
use wellspring::Backend;
use wellspring_replay::{self, Comparison, Replay, Summary};

/// Run known answers through the engine
///
/// Each FILE has the line format of the project's vectors/: events, reseeds, reads, given keys and counters. The file
/// replaces the clock and the sources. Prints the answers: the lines with out=, sha256= or a state.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring replay --check vectors/fortuna-freebsd.txt
  wellspring replay --backend chacha20-portable questions.txt > answers.txt")]
pub(crate) struct ReplayRequest {
    /// Files of vectors; - is the standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Compare the answers with the files'
    ///
    /// Prints the answers that differ, and a summary. The exit status is 1 if an answer differs, and also if a file
    /// has no answers to compare.
    #[arg(long)]
    check: bool,

    /// The implementation to use for its cipher; for the other cipher the best one is used
    #[arg(long, value_name = "NAME", value_parser = named(Backend::ALL, Backend::name))]
    backend: Option<Backend>,
}

/// Answers are written in pieces of about this length.
const PAGE_BYTES: usize = 64 << 10;

pub(crate) fn run(request: &ReplayRequest) -> Result<(), Failure> {
    let backend = request.backend.map(available).transpose()?;
    let mut report = Report {
        output: Output::standard()?,
        page: String::new(),
        only_differences: request.check,
        total: Summary::default(),
    };
    let mut incomparable: Option<&PathBuf> = None;
    for path in &request.files {
        let before = report.total;
        let replay = backend.map_or_else(Replay::new, Replay::with_backend);
        let input = Input::open(path)?;
        let name = input.name().to_string();
        report.file(input, replay)?;
        if (before.same, before.different) == (report.total.same, report.total.different) {
            incomparable = Some(path);
        }
        if !request.check && answers(before) == answers(report.total) {
            report.flush()?;
            return Err(Input::refuse(&name, "asks for no answer"));
        }
    }
    if request.check {
        report.sum_up();
    }
    report.flush()?;
    match (request.check, incomparable) {
        (true, _) if report.total.different > 0 => Err(Failure::Reported),
        (true, Some(path)) => Err(Failure::work(format!(
            "{}: has no answers to compare",
            path.display()
        ))),
        _ => Ok(()),
    }
}

fn answers(summary: Summary) -> u64 {
    summary.same + summary.different + summary.open
}

/// The answers and comparisons, as they are printed.
struct Report {
    output: Output,
    page: String,
    only_differences: bool,
    total: Summary,
}

impl Report {
    fn file(&mut self, input: Input, mut replay: Replay) -> Result<(), Failure> {
        for line in lines(input) {
            // Before an error, print the answers so far.
            let (place, line) = line.or_else(|failure| self.flush().and(Err(failure)))?;
            let answer = replay.line(&line);
            let answer = answer.map_err(|error| Input::refuse(&place, error));
            let answer = answer.or_else(|failure| self.flush().and(Err(failure)))?;
            self.total.vectors += u64::from(wellspring_replay::begins_vector(&line));
            let Some(answer) = answer else { continue };
            match answer.comparison {
                Comparison::Same => self.total.same += 1,
                Comparison::Different => self.total.different += 1,
                Comparison::NothingExpected => self.total.open += 1,
            }
            // Writing to a string cannot fail.
            let _ = match (self.only_differences, answer.comparison) {
                (false, _) => writeln!(self.page, "{}", answer.text),
                (true, Comparison::Different) => writeln!(
                    self.page,
                    "{place}: expected {}\n{place}: got      {}",
                    line.trim(),
                    answer.text.trim()
                ),
                _ => Ok(()),
            };
            if self.page.len() >= PAGE_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn sum_up(&mut self) {
        let Summary {
            vectors,
            same,
            different,
            open,
        } = self.total;
        let compared = same + different;
        self.page += &match different {
            0 => format!("{compared} answers in {vectors} vectors are the same"),
            _ => format!("{different} of {compared} answers in {vectors} vectors differ"),
        };
        self.page += &match open {
            0 => "\n".to_string(),
            _ => format!(", {open} have nothing to compare with\n"),
        };
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.output.print(&self.page)?;
        self.page.clear();
        Ok(())
    }
}
