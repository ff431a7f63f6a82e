//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use wellspring_bench::Section;

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench [TASK] [--quick] [--only PART] [--json FILE] [--report FILE.html]
  without TASK        measure, with the peers
  --readme FILE.svg   measure, print the README's table in Markdown, write its picture to FILE.svg
  --doors             the doors for existing programs, beside what they replace
  --many              many threads and engines, each at two sizes: time and memory
  --check             fail if wellspring lost more than 10 % against dev/bench/baseline.json; with --quick 35 %
  --check-wanted      fail if a ratio is under half of what the project wants; for busy machines
  --against BINARY    the same against another binary of this program; both take turns
  --save-baseline     write the ratios of this machine into dev/bench/baseline.json
  PART is throughput, latency, harvest, blocks or footprint";

/// Prints the time to the first byte, and nothing else: how this program starts itself.
pub(crate) const FIRST_BYTE: &str = "--first-byte";

/// The job of this run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Task {
    #[default]
    Measure,
    Many,
    Doors,
    Check,
    CheckWanted,
    Against(PathBuf),
    SaveBaseline,
    /// Prints the ratios of the gate on one line: how [`Task::Against`] starts both programs.
    Ratios,
    FirstByte,
}

/// The parsed command line.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) task: Task,
    pub(crate) quick: bool,
    pub(crate) only: Option<Section>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) report: Option<PathBuf>,
    pub(crate) readme: Option<PathBuf>,
}

impl Arguments {
    /// `None` if a word is unknown.
    pub(crate) fn parse(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut arguments = Self::default();
        while let Some(word) = words.next() {
            match word.to_str()? {
                "--quick" => arguments.quick = true,
                "--only" => arguments.only = Some(words.next()?.to_str()?.parse().ok()?),
                "--json" => arguments.json = Some(words.next()?.into()),
                "--report" => arguments.report = Some(words.next()?.into()),
                "--readme" => arguments.readme = Some(words.next()?.into()),
                "--many" => arguments.task = Task::Many,
                "--doors" => arguments.task = Task::Doors,
                "--check" => arguments.task = Task::Check,
                "--check-wanted" => arguments.task = Task::CheckWanted,
                "--against" => arguments.task = Task::Against(words.next()?.into()),
                "--save-baseline" => arguments.task = Task::SaveBaseline,
                "--ratios" => arguments.task = Task::Ratios,
                FIRST_BYTE => arguments.task = Task::FirstByte,
                _ => return None,
            }
        }
        Some(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Arguments> {
        Arguments::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn each_task_has_its_word_and_an_unknown_word_is_refused() {
        assert_eq!(parse("--quick --check").unwrap().task, Task::Check);
        assert_eq!(parse("--check-wanted").unwrap().task, Task::CheckWanted);
        assert_eq!(
            parse("--against old").unwrap().task,
            Task::Against("old".into())
        );
        assert_eq!(parse("--many").unwrap().task, Task::Many);
        assert_eq!(parse("--doors").unwrap().task, Task::Doors);
        assert_eq!(parse("").unwrap().task, Task::Measure);
        for wrong in ["--against", "--only nonsense", "--fast", "check"] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }
}
