//! The project's own chores: `cargo xtask CHORE`.
//!
//! ```text
//! chores  what another program does: steps of `.ci/steps`, the rig, the benchmark, a release
//! tidy    the house rules that a program can check
//! book    the pages as one book, and each of its links
//! ```

#![forbid(unsafe_code)]

mod book;
mod chores;
mod tidy;

use chores::root;
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
        "dist" => chores::dist(words),
        "bench" => chores::bench(words),
        "targets" | "loom" | "miri" => chores::step("chore", &name, words),
        // The gate leaves out vulnerabilities, which become known without a change here.
        "deny" => chores::step("chore", &name, ["advisories".into()].into_iter()),
        "asan" | "tsan" => chores::step("by-hand", &name, words),
        "rig" => chores::rig("machines", words),
        "runtimes" | "kernel-test" | "openssl" | "cross" | "prove" => chores::rig(&name, words),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
