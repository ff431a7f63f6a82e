//! The project's own chores: `cargo xtask CHORE`.
//!
//! ```text
//! chores   what calls cargo: tests, other toolchains, sanitizers, machines, the dependency tree; what a release has
//! tidy     the house rules that a program can check
//! book     the pages as one book, and each of its links
//! targets  where the library and the command compile, and what they say elsewhere
//! ```

#![forbid(unsafe_code)]

mod book;
mod chores;
mod targets;
mod tidy;

use chores::{Chore, root};
use std::env;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask CHORE
  tidy, book, targets, dist, deny, bench, loom, miri, asan, tsan, rig, runtimes, kernel-test, openssl, cross, prove
CONTRIBUTING.md and docs/how-to/checks.md say what each of them does.";

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let name = words.next().unwrap_or_default();
    let result = match name.as_str() {
        "tidy" => tidy::run(&root()),
        "book" => book::book(&root()),
        "targets" => targets::targets(),
        "dist" => chores::dist(words),
        "deny" => chores::deny(words),
        "bench" => chores::bench(words),
        _ => Chore::find(&name).map_or(Err(USAGE.into()), |chore| chore.run(words)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
