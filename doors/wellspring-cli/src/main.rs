//! The command `wellspring`.
//!
//! ```text
//! command_line      all commands, help, version, errors in one line
//! bytes             bytes [SIZE]
//! replay            replay FILE...
//! check             check: self-tests by name
//! stats             stats: the state of an engine
//! sources           sources list, record, replay, watch: noise and its health
//! randomness        test FILE: statistical tests of bytes from anywhere
//! seed              seed show FILE, seed save FILE
//! generation        generation show, bump, serve
//! bench             bench: measurements on this machine
//! run               run -- PROGRAM: installed programs draw on wellspring
//! host_service      serve, status: the program wellspringd
//! kernel            kernel save FILE, kernel restore FILE: the seeds of the kernel module
//! manual            completions SHELL, man
//!
//! judge             the statistics of `test`, as functions of bytes
//! engine            the arguments that choose an engine
//! json, table       the state of engines and sources as JSON; tables for people
//! values, size      types of arguments that several commands have
//! input, output     files and streams that a command reads and writes
//! standard_streams  whether the caller closed them
//! failure           errors and exit codes
//! ```
//!
//! Each command has its arguments in a struct beside its `run`.

mod bench;
mod bytes;
mod check;
mod command_line;
mod engine;
mod failure;
mod generation;
mod host_service;
mod input;
mod json;
mod judge;
mod kernel;
mod manual;
mod output;
mod randomness;
mod replay;
mod run;
mod seed;
mod size;
mod sources;
mod standard_streams;
mod stats;
mod table;
mod values;

use command_line::{Command, definitions};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done =
        command_line::parse().and_then(|command| command.map_or(Ok(ExitCode::SUCCESS), execute));
    done.unwrap_or_else(Failure::report)
}

fn execute(command: Command) -> Result<ExitCode, Failure> {
    let done = match command {
        Command::Run(request) => return run::run(&request),
        Command::Bytes(request) => bytes::run(&request),
        Command::Replay(request) => replay::run(&request),
        Command::Check(request) => check::run(&request),
        Command::Stats(request) => stats::run(&request),
        Command::Sources(request) => sources::run(&request),
        Command::Test(request) => randomness::run(&request),
        Command::Bench(request) => bench::run(&request),
        Command::Seed(request) => seed::run(&request),
        Command::Generation(request) => generation::run(&request),
        Command::Serve(request) => host_service::serve(&request),
        Command::Status(request) => host_service::status(&request),
        Command::Kernel(request) => kernel::run(&request),
        Command::Completions(request) => manual::completions(&request, definitions()),
        Command::Man(request) => manual::man(&request, definitions()),
    };
    done.map(|()| ExitCode::SUCCESS)
}
