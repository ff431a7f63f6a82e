//! The command `wellspring`.
//!
//! ```text
//! args      what the user may say: help, completions and man page come from here
//! engine    which engine a command uses
//! size      amounts of bytes, as text
//! bytes     bytes [SIZE]
//! replay    replay FILE...
//! check     check: self-tests by name
//! stats     stats: what can be said of an engine
//! sources   sources list, record, replay, watch: noise and its health
//! seed      seed show FILE, seed save FILE
//! generation  generation show, bump, serve
//! bench     bench: the ladder, measured or modelled
//! module    check --kernel, kernel save FILE, kernel restore FILE: the kernel module
//! manual    completions SHELL, man
//! output    where bytes go, and what went wrong on the way
//! failure   how a run ends that does not end well
//! ```
//!
//! Exit status: 0 for success, which includes that the reader of a pipe has gone; 1 for what went wrong at
//! work; 2 for bad input; 3 where the kernel module is wanted and not loaded.

mod args;
mod bench;
mod bytes;
mod check;
mod engine;
mod failure;
mod generation;
mod manual;
mod module;
mod output;
mod replay;
mod seed;
mod size;
mod sources;
mod stats;

use args::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = args::parse().and_then(|command| match command {
        Command::Bytes(request) => bytes::run(&request),
        Command::Replay(request) => replay::run(&request),
        Command::Check(request) => check::run(&request),
        Command::Stats(request) => stats::run(&request),
        Command::Sources(request) => sources::run(&request),
        Command::Bench(request) => bench::run(&request),
        Command::Seed(request) => seed::run(&request),
        Command::Generation(request) => generation::run(&request),
        Command::Kernel(request) => module::run(&request),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man(request) => manual::man(&request),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
