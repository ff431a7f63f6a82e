//! The compiler puts files of `engine/` into a program that goes through all cases within a bound.
//!
//! A harness in `proofs/rust/` stands for the rest of the crate: it includes a copy of the file, and counts bytes in place of
//! making them. Types without a comparison stand for bytes and counters, so a copy that compiles does not look at them.

use super::edits::{Edit, parse_edits, parse_mutants};
use super::{LIMIT_SECONDS, Tools, read, write};
use crate::guest::{Result, at, failed};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A harness in `proofs/rust/`.
struct Proof {
    name: &'static str,
    harness: &'static str,
    /// The file that is edited, from the repository's root.
    source: &'static str,
    /// Files that come with it as they are.
    beside: &'static [&'static str],
}

const PROOFS: [Proof; 6] = [
    Proof {
        name: "P1 Rust blocks",
        harness: "blocks",
        source: "engine/core/src/generator.rs",
        beside: &["engine/cipher/src/prf.rs"],
    },
    Proof {
        name: "P2 Rust taps",
        harness: "taps",
        source: "engine/core/src/tap.rs",
        beside: &[],
    },
    Proof {
        name: "P6 Rust turns",
        harness: "turns",
        source: "engine/core/src/distribution.rs",
        beside: &[],
    },
    Proof {
        name: "P10 addresses",
        harness: "addresses",
        source: "streams/pseudo/src/elements/arrays.rs",
        beside: &[
            "streams/pseudo/src/name.rs",
            "streams/pseudo/src/elements/distributions/continuous.rs",
            "streams/pseudo/src/elements/distributions/counts.rs",
            "streams/pseudo/src/elements/distributions/rows.rs",
            "streams/pseudo/src/elements/distributions/transformed.rs",
            "streams/pseudo/src/elements/distributions/urns.rs",
        ],
    },
    Proof {
        name: "P10 names",
        harness: "names",
        source: "streams/pseudo/src/name.rs",
        beside: &[],
    },
    Proof {
        name: "P10 jumps",
        harness: "jumps",
        source: "streams/pseudo/src/xorshift128plus.rs",
        beside: &[
            "streams/pseudo/src/xoshiro256plusplus.rs",
            "kernel/wellspring.h",
        ],
    },
];

/// The exit status of a harness with a claim that fails.
const REFUTED: i32 = 10;

/// The exit status of a program that has panicked, as where an index is out of bounds.
const PANIC: i32 = 101;

/// A proof, or one with a mutant that it must refute.
pub(super) struct Job {
    pub(super) name: String,
    proof: &'static Proof,
    mutant: Option<Edit>,
}

/// All proofs and mutants.
pub(super) fn jobs(root: &Path) -> Result<Vec<super::Job>> {
    let mut jobs = Vec::new();
    for proof in &PROOFS {
        jobs.push(Job {
            name: proof.name.into(),
            proof,
            mutant: None,
        });
        let mutants = parse_mutants(&read(&proof.path(root, "edits"))?)?;
        if mutants.len() < 2 {
            return failed(format!("{}: a proof has at least two mutants", proof.name));
        }
        jobs.extend(mutants.into_iter().map(|mutant| Job {
            name: format!("{} without: {}", proof.name, mutant.name),
            proof,
            mutant: Some(mutant),
        }));
    }
    Ok(jobs.into_iter().map(super::Job::Rust).collect())
}

impl Proof {
    fn path(&self, root: &Path, extension: &str) -> PathBuf {
        root.join("proofs/rust")
            .join(self.harness)
            .with_extension(extension)
    }
}

impl Job {
    pub(super) fn run(&self, tools: &Tools) -> Result<String> {
        let folder = tools.folder(&self.name)?;
        let root = &tools.root;
        let mut text = read(&root.join(self.proof.source))?;
        if let Some(mutant) = &self.mutant {
            text = mutant.apply(&text)?;
        }
        for edit in parse_edits(&read(&self.proof.path(root, "edits"))?)? {
            text = edit.apply(&text)?;
        }
        write(&folder.join("source.rs"), &text)?;
        for file in self.proof.beside {
            let name = Path::new(file).file_name().unwrap_or_default();
            write(&folder.join(name), &read(&root.join(file))?)?;
        }
        write(
            &folder.join("main.rs"),
            &read(&self.proof.path(root, "rs"))?,
        )?;
        let program = folder.join("program");
        let mut compile = Command::new("rustc");
        compile.args(["--edition=2024", "-Copt-level=2", "--cap-lints=allow"]);
        compile.arg("-Coverflow-checks=on");
        compile.arg("-o").arg(&program).arg(folder.join("main.rs"));
        let output = compile.output().map_err(at("rustc"))?;
        if !output.status.success() {
            return failed(String::from_utf8_lossy(&output.stderr));
        }
        let mut run = Command::new("timeout");
        let output = run
            .args(["--foreground", LIMIT_SECONDS])
            .arg(&program)
            .output();
        let output = output.map_err(at(program.display()))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().replace('\n', " ");
        let says = text(&output.stdout);
        match (&self.mutant, output.status.code()) {
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
}
