//! The whole command line: the commands, help and version, and errors in one line.

use crate::commands::bench::BenchRequest;
use crate::commands::bytes::BytesRequest;
use crate::commands::check::CheckRequest;
#[cfg(target_os = "linux")]
use crate::commands::generation::GenerationRequest;
#[cfg(target_os = "linux")]
use crate::commands::host_service::{ServeRequest, StatusRequest};
#[cfg(target_os = "linux")]
use crate::commands::kernel::KernelRequest;
use crate::commands::manual::{CompletionsRequest, ManRequest};
use crate::commands::replay::ReplayRequest;
#[cfg(target_os = "linux")]
use crate::commands::run::RunRequest;
use crate::commands::seed::SeedRequest;
use crate::commands::sources::SourcesRequest;
use crate::commands::stats::StatsRequest;
use crate::commands::uuid::UuidRequest;
use crate::failure::Failure;
use crate::output::Output;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

/// Random numbers that scale with the machine
///
/// Fortuna, bit-exact with FreeBSD's random(4), made concurrent: one generator for each NUMA node, one tap for
/// each thread.
#[derive(Parser)]
#[command(
    name = "wellspring",
    version,
    arg_required_else_help = false,
    after_help = "\
Exit status:
  0  success, also when the reader of a pipe has closed it
  1  an error while the command worked, or a test that failed
  2  wrong arguments, or an input file that is missing or wrong
  3  the kernel module is not loaded"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Bytes(Box<BytesRequest>),
    Uuid(UuidRequest),
    Replay(ReplayRequest),
    Check(CheckRequest),
    Stats(StatsRequest),
    Sources(SourcesRequest),
    Bench(BenchRequest),
    Seed(SeedRequest),
    #[cfg(target_os = "linux")]
    Generation(GenerationRequest),
    #[cfg(target_os = "linux")]
    Serve(ServeRequest),
    #[cfg(target_os = "linux")]
    Status(StatusRequest),
    #[cfg(target_os = "linux")]
    Kernel(KernelRequest),
    #[cfg(target_os = "linux")]
    Run(RunRequest),
    Completions(CompletionsRequest),
    Man(ManRequest),
}

/// The definitions, from which completions and man pages are made.
pub(crate) fn definitions() -> clap::Command {
    Arguments::command()
}

/// Reads the command line. Prints help and version itself, and then returns `None`.
pub(crate) fn parse() -> Result<Option<Command>, Failure> {
    let error = match Arguments::try_parse() {
        Ok(arguments) => return Ok(Some(arguments.command)),
        Err(error) => error,
    };
    let message = error.render().to_string();
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        // Not with clap's own printing, which ignores errors: a full disk would look like success.
        Output::standard()?.print(&message)?;
        return Ok(None);
    }
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let line = one_line(&message, &command_of(&words));
    Err(Failure::Input(line))
}

/// The standard library's words for wrong numbers, and plain ones.
const PLAIN_WORDS: [(&str, &str); 4] = [
    (
        "cannot parse integer from empty string",
        "expected a number",
    ),
    ("invalid digit found in string", "expected a number"),
    (
        "number too large to fit in target type",
        "the number is too large",
    ),
    (
        "number too small to fit in target type",
        "the number is too small",
    ),
];

/// Clap's paragraphs as one line: the reason and the tips, then a hint instead of the usage.
fn one_line(message: &str, command: &str) -> String {
    // A number below zero is wrong for every argument, so clap's tip how to write it does not help.
    let is_misleading = |paragraph: &str| {
        let value = paragraph.trim_start().strip_prefix("tip: to pass '-");
        value.is_some_and(|value| value.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    let is_reason = |paragraph: &&str| {
        !["Usage:", "For more information"]
            .iter()
            .any(|start| paragraph.starts_with(start))
    };
    let words = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let paragraphs = message.trim().split("\n\n").take_while(is_reason);
    let paragraphs = paragraphs.filter(|paragraph| !is_misleading(paragraph));
    let reason = paragraphs.map(words).collect::<Vec<_>>().join("; ");
    let reason = reason.strip_prefix("error: ").unwrap_or(&reason);
    let reason = PLAIN_WORDS
        .iter()
        .fold(reason.to_owned(), |reason, (words, plain)| {
            reason.replace(words, plain)
        });
    format!("{reason} (try '{command} --help')")
}

/// The command that these words begin with, and the command within it if there is one.
fn command_of(words: &[impl AsRef<str>]) -> String {
    let mut command = String::from("wellspring");
    let mut definition = definitions();
    for word in words {
        let Some(inner) = definition.find_subcommand(word.as_ref()) else {
            break;
        };
        command += " ";
        command += inner.get_name();
        definition = inner.clone();
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_contradict_nothing() {
        definitions().debug_assert();
    }

    #[test]
    fn an_error_of_many_lines_becomes_one_with_a_hint() {
        let message = "error: bad\n  [possible values: a, b]\n\n  tip: good\n\nUsage: wellspring bytes [SIZE]\n\nx";
        let expected = "bad [possible values: a, b]; tip: good";
        let hint = "(try 'wellspring bytes --help')";
        assert_eq!(
            one_line(message, &command_of(&["bytes", "-5"])),
            format!("{expected} {hint}")
        );
        let hint = "(try 'wellspring --help')";
        assert_eq!(command_of(&["seed", "show", "a"]), "wellspring seed show");
        assert_eq!(
            one_line("error: x", &command_of(&["frob"])),
            format!("x {hint}")
        );
    }
}
