//! `--audit`: which generators a program draws on, and where two processes draw the same numbers.
//!
//! ```text
//! ptrace      stops of the program, its registers and its memory                   [unsafe: ptrace, waitpid]
//! elf         the symbols of an executable file or a library, and its instructions
//! generators  the functions by which runtimes draw on their generators and seed them
//! method_tables  functions without symbols, by the tables of CPython and PHP
//! breakpoints the functions of a process that stop it
//! origins     where the state of each generator comes from, and the faults that follow
//! tracer      follows the program and all that it starts
//! report      what was found, as text and as JSON
//! ```
//!
//! One mechanism, ptrace(2), sees system calls, forks and functions. It also sees programs that are static or that make
//! system calls themselves, for which a library of LD_PRELOAD is blind.

mod breakpoints;
mod elf;
mod generators;
mod method_tables;
mod origins;
mod ptrace;

mod report;
mod tracer;

use crate::failure::Failure;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Runs the program to its end, and reports on stderr, and to `file` as JSON.
pub(super) fn run(
    command: &mut Command,
    page: &Path,
    file: Option<&Path>,
) -> Result<io::Result<ExitStatus>, Failure> {
    let child = match ptrace::spawn(command) {
        Ok(child) => child,
        Err(error) => return Ok(Err(error)),
    };
    let (status, audit) = tracer::follow(child, page).map_err(Failure::work)?;
    report::print(&audit);
    if let Some(file) = file {
        let json = report::json(&audit).to_string() + "\n";
        std::fs::write(file, json)
            .map_err(|error| Failure::work(format!("{}: {error}", file.display())))?;
    }
    Ok(Ok(status))
}
