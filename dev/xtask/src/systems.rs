//! `systems`: tests of the code for other systems, on this one.
//!
//! `--cfg wellspring_test_portable` builds `engine/os/src/portable/` on Linux: locks, threads, signals, clocks and
//! memory as on FreeBSD. `--cfg wellspring_test_at_fork` has the children wiped as on macOS.

use crate::chores::{cargo, run};
use std::process::Command;

/// Tests of the crate that calls the system, and of the engine.
const SYSTEM: &str = "--package wellspring-os --lib --test handler_allocates_nothing --test many --test raw_clones \
                      --test shortage --test states";
const ENGINE: &str = "--package wellspring --test core_dump --test every_system --test fork --test memory --test nested";

/// Flags of the compiler, the folder of what they build, and a test that is left out: where a handler of fork(3) wipes
/// memory, the kernel's list of mappings does not say so.
const WAYS: [(&str, &str, &[&str]); 2] = [
    ("--cfg wellspring_test_portable", "target/systems", &[]),
    (
        "--cfg wellspring_test_portable --cfg wellspring_test_at_fork",
        "target/systems-at-fork",
        &["secret_memory_is_wiped_on_fork"],
    ),
];

/// Tests of what Linux alone has: pages of others, user namespaces, memory that is locked when it is touched; and steps through
/// code that was counted on it.
const LINUX_ALONE: [&str; 5] = [
    "detector",
    "an_owner_without_a_number",
    "a_state_touches_no_more",
    "a_page_that_is_gone",
    "steps::",
];

/// Runs both packages' tests of memory, fork, signals and threads.
pub(crate) fn systems() -> Result<(), String> {
    for (flags, folder, left_out) in WAYS {
        for words in [SYSTEM, ENGINE] {
            let mut tests = tests(flags, folder, words);
            run(tests.args(left_out.iter().flat_map(|name| ["--skip", name])))?;
        }
    }
    Ok(())
}

fn tests(flags: &str, folder: &str, words: &str) -> Command {
    let mut cargo = cargo();
    cargo.env("RUSTFLAGS", flags);
    cargo.args(["test", "--locked", "--target-dir", folder]);
    cargo.args(words.split_whitespace()).arg("--");
    cargo.args(LINUX_ALONE.iter().flat_map(|name| ["--skip", name]));
    cargo
}
