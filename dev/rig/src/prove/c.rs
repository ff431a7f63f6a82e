//! CBMC reads the files of `kernel/` as they are, but for what a proof puts into a copy.

use super::edits::{Edit, parse_edits, parse_mutants};
use super::{Job, Tools, answer, cells, jobs_of, must, read, write};
use crate::guest::{Result, at, failed};
use std::fs;
use std::path::{Path, PathBuf};

/// A harness in `proofs/c/`, which includes the file of the kernel module that it is about.
#[derive(Clone, Copy)]
struct Proof {
    harness: &'static str,
    /// The files that are edited. An edit fits one of them.
    sources: &'static str,
    bound: &'static str,
    /// Its cases, with semicolons between: all together are the proof.
    cases: &'static str,
}

/// Bounds on loops. Each ends by the invariant that the edits give: claims say where output goes, and no address of it is
/// written to. Or a compiler's code runs to its end. Any other bound is words for CBMC: loops end after so many rounds, and CBMC
/// proves that there are no more.
const INVARIANTS: &str = "invariants";
const EXHAUSTION: &str = "exhaustion";

/// Name, harness, sources, bound and cases.
const PROOFS: &str = "\
P1 blocks    | blocks    | fortuna.c         | invariants  | -DCIPHER=WS_CHACHA20; -DCIPHER=WS_AES256
P1 keystream | keystream | cipher.c          | invariants  | -DCIPHER=WS_CHACHA20; -DCIPHER=WS_AES256
P2 taps      | taps      | tap.c             | --unwind 18 --unwindset hand_out.0:3,hand_out.1:8,tap_serve.0:3 |\
    -DIS_TAKE=1 -DBUSY=1; -DIS_TAKE=0 -DBUSY=1; -DIS_TAKE=1 -DBUSY=0; -DIS_TAKE=0 -DBUSY=0
P2 copy      | copy      | tap.c             | exhaustion  |
P2 reads     | reads     | tap.c             | --unwind 34 --unwindset tap_serve.0:4 |\
    -DPART=COMPOSITION; -DPART=TAKE; -DPART=SHORT
P4 orders    | order     | topology.c node.c | --unwind 5  |
P6 turns     | turns     | topology.c        | --unwind 15 | -DNODES=2; -DNODES=4; -DNODES=8
P7 pools     | credit    | fortuna.c         | --unwind 33 | -DOPERATION=mix; -DOPERATION=absorb; -DOPERATION=take_seed
P7 ioctls    | ioctl     | chardev.c         | --unwind 8  | -DOPERATION=formula -DMAX_WRITTEN=600;\
    -DOPERATION=call -DMAX_WRITTEN=600; -DOPERATION=user_writes -DMAX_WRITTEN=600
P7 ready     | ready     | topology.c        | --unwind 4  |
";

/// A job for each case of a proof, and for each mutant.
pub(super) fn jobs(root: &Path) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for [name, harness, sources, bound, cases] in cells(PROOFS) {
        let whole = Proof {
            harness,
            sources,
            bound,
            cases,
        };
        let part = |cases: &'static str| {
            let words = cases.trim().replace("-D", "");
            let part = Proof { cases, ..whole };
            (format!("{name} {words}").trim_end().to_owned(), part)
        };
        let mutants = parse_mutants(&read(&whole.file(root, "edits"))?)?;
        let parts = cases.split(';').rev().map(part).collect();
        jobs.extend(jobs_of(parts, (name, whole), mutants, Proof::run)?);
    }
    Ok(jobs)
}

impl Proof {
    fn file(&self, root: &Path, extension: &str) -> PathBuf {
        root.join(format!("proofs/c/{}.{extension}", self.harness))
    }

    fn run(&self, tools: &Tools, name: &str, mutant: Option<&Edit>) -> Result<String> {
        let folder = tools.folder(name)?;
        self.copy(&tools.root, &folder, mutant)?;
        for case in self.cases.split(';') {
            let says = self.check(tools, &folder, case)?;
            match (mutant, says.failed.first()) {
                (None, Some(claim)) => return failed(format!("refuted: {claim}")),
                (None, None) if !says.missed.is_empty() => {
                    return failed(format!("never reached: {}", says.missed.join(", ")));
                }
                (None, None) => return Ok(format!("{} claims hold", says.held)),
                (Some(_), Some(claim)) => return Ok(format!("refuted: {claim}")),
                (Some(_), None) => {}
            }
        }
        failed("no claim fails without it")
    }

    /// Copies the module's files, edits them, and puts an empty file for each header of the kernel beside them.
    fn copy(&self, root: &Path, folder: &Path, mutant: Option<&Edit>) -> Result {
        let kernel = root.join("kernel");
        let mut sources = Vec::new();
        for entry in fs::read_dir(&kernel)
            .map_err(at(kernel.display()))?
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.ends_with(".c") && !name.ends_with(".h") {
                continue;
            }
            let text = read(&entry.path())?;
            for line in text.lines() {
                if let Some(header) = line.strip_prefix("#include <")
                    && let Some((header, _)) = header.split_once('>')
                {
                    write(&folder.join("headers").join(header), "")?;
                }
            }
            if self.sources.split(' ').any(|source| source == name) {
                sources.push((name, text));
            } else {
                write(&folder.join("kernel").join(name), &text)?;
            }
        }
        let edits = parse_edits(&read(&self.file(root, "edits"))?)?;
        for edit in mutant.into_iter().chain(&edits) {
            let texts: Vec<&mut String> = sources.iter_mut().map(|(_, text)| text).collect();
            edit.apply_to_one(texts)?;
        }
        for (name, text) in sources {
            write(&folder.join("kernel").join(name), &text)?;
        }
        // Of the processor's folder.
        write(&folder.join("headers/machine.h"), "")
    }

    /// Has CBMC check all claims in one case.
    fn check(&self, tools: &Tools, folder: &Path, case: &str) -> Result<Says> {
        let harness = self.file(&tools.root, "c");
        let harness = harness.to_string_lossy();
        let room = format!("-I{}", tools.root.join("proofs/c").display());
        let mut compile = vec!["-Ikernel", &room, "-Iheaders", "-o", "program", &harness];
        compile.extend(case.split_whitespace());
        if self.bound == EXHAUSTION {
            return run_to_the_end(tools, &compile, folder);
        }
        must(&tools.trixie, "goto-cc", &compile, folder)?;
        let mut words = vec!["program", "--slice-formula", "--no-standard-checks"];
        if self.bound == INVARIANTS {
            let apply = ["--apply-loop-contracts", "program", "annotated"];
            must(&tools.trixie, "goto-instrument", &apply, folder)?;
            words[0] = "annotated";
        } else {
            words.extend([
                "--bounds-check",
                "--pointer-check",
                "--unwinding-assertions",
            ]);
            words.extend(self.bound.split(' '));
        }
        let (code, text) = answer(&tools.trixie, "cbmc", &words, folder)?;
        match code {
            0 | 10 => Ok(Says::of(&text)),
            _ => failed(format!("cbmc: {code}\n{text}")),
        }
    }
}

/// Runs the harness itself: it ends with status 10 and the claim that fails.
fn run_to_the_end(tools: &Tools, compile: &[&str], folder: &Path) -> Result<Says> {
    // What the harness does not call is not there.
    let mut words = vec!["-O1", "-w", "-static", "-fno-strict-aliasing"];
    words.extend([
        "-ffunction-sections",
        "-fdata-sections",
        "-Wl,--gc-sections",
    ]);
    words.extend(compile);
    must(&tools.trixie, "gcc", &words, folder)?;
    let program = folder.join("program");
    let (code, text) = answer(&tools.trixie, &program.to_string_lossy(), &[], folder)?;
    let mut says = Says::default();
    match code {
        0 => says.held = 1,
        10 => says.failed.push(text.trim().into()),
        _ => return failed(format!("{}: {code}\n{text}", program.display())),
    }
    Ok(says)
}

/// The answers of CBMC.
#[derive(Debug, Default, PartialEq, Eq)]
struct Says {
    held: usize,
    failed: Vec<String>,
    /// Cases that a run must reach, and that none reaches. A harness claims that they are not, so that CBMC finds one.
    missed: Vec<String>,
}

impl Says {
    /// From lines like "[main.assertion.1] line 12 each byte is made once: SUCCESS".
    fn of(text: &str) -> Self {
        let mut says = Self::default();
        for line in text.lines().filter(|line| line.starts_with('[')) {
            let Some((claim, status)) = line.rsplit_once(": ") else {
                continue;
            };
            let case = claim
                .split_once("REACHED ")
                .map(|(_, case)| case.to_owned());
            match (case, status) {
                (Some(_), "FAILURE") => {}
                (Some(case), "SUCCESS") => says.missed.push(case),
                (None, "SUCCESS") => says.held += 1,
                (None, "FAILURE") => says.failed.push(claim.to_owned()),
                _ => {}
            }
        }
        says
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_is_not_reached_is_no_claim_that_holds() {
        let says = Says::of(
            "** Results:\nblocks.c function main\n\
             [main.assertion.1] line 3 once: SUCCESS\n\
             [main.assertion.2] line 4 a: b: FAILURE\n\
             [main.assertion.3] line 5 REACHED a carry: FAILURE\n\
             [main.assertion.4] line 6 REACHED no bytes: SUCCESS\n",
        );
        assert_eq!(says.held, 1);
        assert_eq!(says.failed, ["[main.assertion.2] line 4 a: b"]);
        assert_eq!(says.missed, ["no bytes"]);
    }
}
