//! The command `wellspring`: all commands, help and version, and errors in one line.
//!
//! ```text
//! commands    the commands, with their arguments
//! arguments   types of arguments that several commands have
//! streams     files and streams that a command reads and writes; errors and exit codes
//! ```

mod arguments;
mod commands;
mod streams;

use crate::commands::bytes::BytesRequest;
use crate::commands::check::CheckRequest;
#[cfg(target_os = "linux")]
use crate::commands::machine::{GenerationRequest, KernelRequest, ServeRequest, StatusRequest};
#[cfg(target_os = "linux")]
use crate::commands::openssl::OpensslRequest;
use crate::commands::replay::ReplayRequest;
#[cfg(target_os = "linux")]
use crate::commands::run::RunRequest;
use crate::commands::sources::SourcesRequest;
use crate::commands::stats::StatsRequest;
use crate::commands::{BenchRequest, CompletionsRequest, ManRequest, SeedRequest, UuidRequest};
use crate::streams::{Failure, Output};
use clap::{CommandFactory, Parser, Subcommand};
use commands::{bench, bytes, check, completions, man, replay, seed, sources, stats, uuid};
#[cfg(target_os = "linux")]
use commands::{machine, openssl, run};
use std::process::ExitCode;
use wellspring_command_line::{is_shown, one_line};

fn main() -> ExitCode {
    let done = parse().and_then(|command| command.map_or(Ok(ExitCode::SUCCESS), execute));
    done.unwrap_or_else(Failure::report)
}

fn execute(command: Command) -> Result<ExitCode, Failure> {
    let done = match command {
        #[cfg(target_os = "linux")]
        Command::Run(request) => return run::run(&request),
        Command::Bytes(request) => bytes::run(&request),
        Command::Uuid(request) => uuid(&request),
        Command::Replay(request) => replay::run(&request),
        Command::Check(request) => check::run(&request),
        Command::Stats(request) => stats::run(&request),
        Command::Sources(request) => sources::run(&request),
        Command::Bench(request) => bench(&request),
        Command::Seed(request) => seed(&request),
        #[cfg(target_os = "linux")]
        Command::Generation(request) => machine::generation(&request),
        #[cfg(target_os = "linux")]
        Command::Serve(request) => machine::serve(&request),
        #[cfg(target_os = "linux")]
        Command::Status(request) => machine::status(&request),
        #[cfg(target_os = "linux")]
        Command::Kernel(request) => machine::kernel(&request),
        #[cfg(target_os = "linux")]
        Command::Openssl(request) => openssl::run(&request),
        Command::Completions(request) => completions(&request, definitions()),
        Command::Man(request) => man(&request, definitions()),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Random numbers that scale with the machine
///
/// Fortuna, bit-exact with FreeBSD's random(4), made concurrent: one generator for each NUMA node, one tap for
/// each thread.
#[derive(Parser)]
#[command(
    name = "wellspring",
    version,
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
enum Command {
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
    #[cfg(target_os = "linux")]
    Openssl(OpensslRequest),
    Completions(CompletionsRequest),
    Man(ManRequest),
}

/// The definitions, from which completions and man pages are made.
fn definitions() -> clap::Command {
    Arguments::command()
}

/// Reads the command line. Prints help and version itself, and then returns `None`; without a word there is help too.
fn parse() -> Result<Option<Command>, Failure> {
    let error = match Arguments::try_parse() {
        Ok(arguments) => return Ok(Some(arguments.command)),
        Err(error) => error,
    };
    let message = error.render().to_string();
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if is_shown(&error) || words.is_empty() {
        Output::standard()?.print(&message)?;
        return Ok(None);
    }
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let line = one_line(&message, &command_of(&words));
    Err(Failure::Input(line))
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
    fn a_hint_names_the_command_that_was_meant() {
        assert_eq!(command_of(&["bytes", "-5"]), "wellspring bytes");
        assert_eq!(command_of(&["seed", "show", "a"]), "wellspring seed show");
        assert_eq!(command_of(&["frob"]), "wellspring");
        assert_eq!(
            one_line("error: x", "wellspring"),
            "x (try 'wellspring --help')"
        );
    }
}
