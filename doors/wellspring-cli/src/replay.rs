//! `replay FILE...`: known answers through the real pipeline.

use crate::args::ReplayRequest;
use crate::engine::available;
use crate::failure::Failure;
use crate::output::Output;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use wellspring::replay::{self, Comparison, Replay, Summary};

/// Answers are written in portions of about this length.
const PAGE_BYTES: usize = 64 << 10;

/// Runs the command.
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
        report.file(path, replay)?;
        if (before.same, before.different) == (report.total.same, report.total.different) {
            incomparable = Some(path);
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

/// What is said about files.
struct Report {
    output: Output,
    page: String,
    only_differences: bool,
    total: Summary,
}

impl Report {
    fn file(&mut self, path: &Path, mut replay: Replay) -> Result<(), Failure> {
        let name = path.display();
        let fail = |error: io::Error| Failure::input(format!("{name}: {error}"));
        let lines: Box<dyn BufRead> = match path == Path::new("-") {
            true => Box::new(io::stdin().lock()),
            false => Box::new(BufReader::new(File::open(path).map_err(fail)?)),
        };
        for (number, line) in (1..).zip(lines.lines()) {
            let refuse = |reason: &dyn std::fmt::Display| {
                Failure::input(format!("{name}:{number}: {reason}"))
            };
            let line = line.map_err(|error| match error.kind() {
                ErrorKind::InvalidData => refuse(&"is not text"),
                _ => fail(error),
            });
            // What was found before is worth knowing.
            let line = line.or_else(|failure| self.flush().and(Err(failure)))?;
            let answer = replay.line(&line).map_err(|error| refuse(&error));
            let answer = answer.or_else(|failure| self.flush().and(Err(failure)))?;
            self.total.vectors += u64::from(replay::begins_vector(&line));
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
                    "{name}:{number}: expected {}\n{name}:{number}: got      {}",
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
        let _ = match different {
            0 => write!(
                self.page,
                "{compared} answers in {vectors} vectors are the same"
            ),
            _ => write!(
                self.page,
                "{different} of {compared} answers in {vectors} vectors differ"
            ),
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
