//! The compiler puts files of `engine/` into a program that goes through all cases within a bound.
//!
//! A harness in `proofs/rust/` stands for the rest of the crate: it includes a copy of the file, and counts bytes in place of
//! making them. Types without a comparison stand for bytes and counters, so a copy that compiles does not look at them.

use super::edits::{Edit, parse_edits, parse_mutants};
use super::{Job, LIMIT_SECONDS, Tools, cells, jobs_of, read, write};
use crate::guest::{Result, at, failed, run as run_quietly};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name, harness in `proofs/rust/`, the file that is edited, and files and folders that come with it as they are.
const PROOFS: &str = "\
P1 Rust blocks | blocks    | engine/core/src/generator.rs          | engine/cipher/src/prf.rs
P2 Rust taps   | taps      | engine/core/src/tap.rs                |
P6 Rust turns  | turns     | engine/core/src/distribution.rs       |
P10 addresses  | addresses | streams/pseudo/src/elements/arrays.rs | streams/pseudo/src/name.rs \
    streams/pseudo/src/elements/distributions
P10 names      | names     | streams/pseudo/src/name.rs            |
P10 jumps      | jumps     | streams/pseudo/src/xorshift128plus.rs | streams/pseudo/src/xoshiro256plusplus.rs kernel/wellspring.h
";

/// The exit status of a harness with a claim that fails.
const REFUTED: i32 = 10;

/// The exit status of a program that has panicked, as where an index is out of bounds.
const PANIC: i32 = 101;

pub(super) fn jobs(root: &Path) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for [name, harness, source, beside] in cells(PROOFS) {
        let proof = [harness, source, beside];
        let mutants = parse_mutants(&read(&harness_file(root, harness, "edits"))?)?;
        jobs.extend(jobs_of(
            vec![(name.into(), proof)],
            (name, proof),
            mutants,
            run,
        )?);
    }
    Ok(jobs)
}

fn harness_file(root: &Path, harness: &str, extension: &str) -> PathBuf {
    root.join(format!("proofs/rust/{harness}.{extension}"))
}

fn run(
    &[harness, source, beside]: &[&'static str; 3],
    tools: &Tools,
    name: &str,
    mutant: Option<&Edit>,
) -> Result<String> {
    let folder = tools.folder(name)?;
    let root = &tools.root;
    let mut text = read(&root.join(source))?;
    if let Some(mutant) = mutant {
        text = mutant.apply(&text)?;
    }
    for edit in parse_edits(&read(&harness_file(root, harness, "edits"))?)? {
        text = edit.apply(&text)?;
    }
    write(&folder.join("source.rs"), &text)?;
    write(
        &folder.join("main.rs"),
        &read(&harness_file(root, harness, "rs"))?,
    )?;
    for path in beside.split_whitespace().map(|path| root.join(path)) {
        let what = if path.is_dir() { path.join(".") } else { path };
        run_quietly(Command::new("cp").arg("-r").arg(what).arg(&folder))?;
    }
    let program = folder.join("program");
    let mut compile = Command::new("rustc");
    compile.args(["--edition=2024", "-Copt-level=2", "--cap-lints=allow"]);
    compile.arg("-Coverflow-checks=on");
    compile.arg("-o").arg(&program).arg(folder.join("main.rs"));
    run_quietly(&mut compile)?;
    let mut run = Command::new("timeout");
    run.args(["--foreground", LIMIT_SECONDS]).arg(&program);
    let output = run.output().map_err(at(program.display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().replace('\n', " ");
    let says = text(&output.stdout);
    match (mutant, output.status.code()) {
        (None, Some(0)) => Ok(says),
        (None, Some(REFUTED)) => failed(format!("refuted: {says}")),
        (Some(_), Some(REFUTED)) => Ok(format!("refuted: {says}")),
        // Only a panic in the code refutes: the harness may panic too.
        (Some(_), Some(PANIC)) if text(&output.stderr).contains("/source.rs:") => {
            Ok("refuted: the code panics".into())
        }
        (Some(_), Some(0)) => failed("no claim fails without it"),
        (_, code) => failed(format!("{code:?}: {says} {}", text(&output.stderr))),
    }
}
