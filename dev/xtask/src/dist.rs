//! `dist`: what a release has, by `packaging/dist/`, into `dist/VERSION`. RELEASING.md says what the words are.

use crate::chores::{root, run};
use std::process::Command;

/// Builds the parts that are named, or all. `compare` builds them twice, to see that both are the same; `sign` signs them,
/// and `try` uses them in a new Debian.
pub(crate) fn dist(words: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<String> = words.collect();
    let out = concat!("dist/", env!("CARGO_PKG_VERSION"));
    let (script, fixed, rest): (_, &[&str], _) = match words.split_first() {
        Some((word, rest)) if word == "compare" => ("compare.sh", &[], rest),
        Some((word, rest)) if word == "sign" => ("sign.sh", &[out], rest),
        Some((word, rest)) if word == "try" => ("try.sh", &[out], rest),
        _ => ("build.sh", &["target/dist", out], &words[..]),
    };
    let script = root().join("packaging/dist").join(script);
    run(Command::new(script)
        .current_dir(root())
        .args(fixed)
        .args(rest))
}
