//! The command `wellspring`.
//!
//! ```text
//! command_line      all commands, help, version, errors in one line
//! commands          one module for each command, with its arguments
//!
//! engine            the arguments that choose an engine
//! json, table       the state of engines and sources as JSON; tables for people
//! values, size      types of arguments that several commands have
//! input, output     files and streams that a command reads and writes
//! standard_streams  whether the caller closed them
//! signal_file       a file from which signals are read
//! failure           errors and exit codes
//! ```

mod command_line;
mod commands;
mod engine;
mod failure;
mod input;
mod json;
mod output;
#[cfg(target_os = "linux")]
mod signal_file;
mod size;
mod standard_streams;
mod table;
mod values;

use command_line::{Command, definitions};
use commands::{bench, bytes, check, manual, replay, seed, sources, stats, uuid};
#[cfg(target_os = "linux")]
use commands::{generation, host_service, kernel, run};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done =
        command_line::parse().and_then(|command| command.map_or(Ok(ExitCode::SUCCESS), execute));
    done.unwrap_or_else(Failure::report)
}

fn execute(command: Command) -> Result<ExitCode, Failure> {
    let done = match command {
        #[cfg(target_os = "linux")]
        Command::Run(request) => return run::run(&request),
        Command::Bytes(request) => bytes::run(&request),
        Command::Uuid(request) => uuid::run(&request),
        Command::Replay(request) => replay::run(&request),
        Command::Check(request) => check::run(&request),
        Command::Stats(request) => stats::run(&request),
        Command::Sources(request) => sources::run(&request),
        Command::Bench(request) => bench::run(&request),
        Command::Seed(request) => seed::run(&request),
        #[cfg(target_os = "linux")]
        Command::Generation(request) => generation::run(&request),
        #[cfg(target_os = "linux")]
        Command::Serve(request) => host_service::serve(&request),
        #[cfg(target_os = "linux")]
        Command::Status(request) => host_service::status(&request),
        #[cfg(target_os = "linux")]
        Command::Kernel(request) => kernel::run(&request),
        Command::Completions(request) => manual::completions(&request, definitions()),
        Command::Man(request) => manual::man(&request, definitions()),
    };
    done.map(|()| ExitCode::SUCCESS)
}
