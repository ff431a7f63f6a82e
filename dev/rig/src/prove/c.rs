//! CBMC reads the files of `kernel/` as they are, but for what a proof puts into a copy.

use super::edits::{Edit, parse_edits, parse_mutants};
use super::{Tools, answer, must, read, write};
use crate::guest::{Result, at, failed};
use std::fs;
use std::path::Path;

/// A harness in `proofs/c/`, which includes the file of the kernel module that it is about.
struct Proof {
    name: &'static str,
    harness: &'static str,
    /// The files that are edited. An edit fits one of them.
    sources: &'static [&'static str],
    /// Its cases: all together are the proof.
    cases: &'static [&'static [&'static str]],
    bound: Bound,
}

/// How loops end.
enum Bound {
    /// Each by the invariant that the edits give. Claims say where output goes, and no address of it is written to.
    Invariants,
    /// A compiler's code runs to its end.
    Exhaustion,
    /// After so many rounds, and CBMC proves that there are no more.
    Rounds(&'static [&'static str]),
}

const PROOFS: [Proof; 10] = [
    Proof {
        name: "P1 blocks",
        harness: "blocks",
        sources: &["fortuna.c"],
        cases: &[&["-DCIPHER=WS_CHACHA20"], &["-DCIPHER=WS_AES256"]],
        bound: Bound::Invariants,
    },
    Proof {
        name: "P1 keystream",
        harness: "keystream",
        sources: &["cipher.c"],
        cases: &[&["-DCIPHER=WS_CHACHA20"], &["-DCIPHER=WS_AES256"]],
        bound: Bound::Invariants,
    },
    Proof {
        name: "P2 taps",
        harness: "taps",
        sources: &["tap.c"],
        cases: &[
            &["-DIS_TAKE=1", "-DBUSY=1"],
            &["-DIS_TAKE=0", "-DBUSY=1"],
            &["-DIS_TAKE=1", "-DBUSY=0"],
            &["-DIS_TAKE=0", "-DBUSY=0"],
        ],
        bound: Bound::Rounds(&[
            "--unwind",
            "18",
            "--unwindset",
            "hand_out.0:3,hand_out.1:8,tap_serve.0:3",
        ]),
    },
    Proof {
        name: "P2 copy",
        harness: "copy",
        sources: &["tap.c"],
        cases: &[&[]],
        bound: Bound::Exhaustion,
    },
    Proof {
        name: "P2 reads",
        harness: "reads",
        sources: &["tap.c"],
        cases: &[&["-DPART=COMPOSITION"], &["-DPART=TAKE"], &["-DPART=SHORT"]],
        bound: Bound::Rounds(&["--unwind", "34", "--unwindset", "tap_serve.0:4"]),
    },
    Proof {
        name: "P4 orders",
        harness: "order",
        sources: &["topology.c", "node.c"],
        cases: &[&[]],
        bound: Bound::Rounds(&["--unwind", "5"]),
    },
    Proof {
        name: "P6 turns",
        harness: "turns",
        sources: &["topology.c"],
        cases: &[&["-DNODES=2"], &["-DNODES=4"], &["-DNODES=8"]],
        bound: Bound::Rounds(&["--unwind", "15"]),
    },
    Proof {
        name: "P7 pools",
        harness: "credit",
        sources: &["fortuna.c"],
        cases: &[
            &["-DOPERATION=mix"],
            &["-DOPERATION=absorb"],
            &["-DOPERATION=take_seed"],
        ],
        bound: Bound::Rounds(&["--unwind", "33"]),
    },
    Proof {
        name: "P7 ioctls",
        harness: "ioctl",
        sources: &["chardev.c"],
        cases: &[
            &["-DOPERATION=formula", "-DMAX_WRITTEN=600"],
            &["-DOPERATION=call", "-DMAX_WRITTEN=600"],
            &["-DOPERATION=user_writes", "-DMAX_WRITTEN=600"],
        ],
        bound: Bound::Rounds(&["--unwind", "8"]),
    },
    Proof {
        name: "P7 ready",
        harness: "ready",
        sources: &["topology.c"],
        cases: &[&[]],
        bound: Bound::Rounds(&["--unwind", "4"]),
    },
];

/// A case of a proof, or all cases with a mutant: at least one case must refute the mutant.
pub(super) struct Job {
    pub(super) name: String,
    proof: &'static Proof,
    cases: &'static [&'static [&'static str]],
    mutant: Option<Edit>,
}

/// The proofs, the longest first.
pub(super) fn jobs(root: &Path) -> Result<Vec<super::Job>> {
    let mut jobs = Vec::new();
    for proof in &PROOFS {
        for case in proof.cases.chunks(1).rev() {
            let words: Vec<&str> = case[0]
                .iter()
                .map(|word| word.trim_start_matches("-D"))
                .collect();
            jobs.push(Job {
                name: format!("{} {}", proof.name, words.join(" "))
                    .trim_end()
                    .into(),
                proof,
                cases: case,
                mutant: None,
            });
        }
        let mutants = parse_mutants(&read(&file(root, proof, "edits"))?)?;
        if mutants.len() < 2 {
            return failed(format!("{}: a proof has at least two mutants", proof.name));
        }
        jobs.extend(mutants.into_iter().map(|mutant| Job {
            name: format!("{} without: {}", proof.name, mutant.name),
            proof,
            cases: proof.cases,
            mutant: Some(mutant),
        }));
    }
    Ok(jobs.into_iter().map(super::Job::C).collect())
}

fn file(root: &Path, proof: &Proof, extension: &str) -> std::path::PathBuf {
    root.join("proofs/c")
        .join(proof.harness)
        .with_extension(extension)
}

impl Job {
    pub(super) fn run(&self, tools: &Tools) -> Result<String> {
        let folder = tools.folder(&self.name)?;
        self.copy(&tools.root, &folder)?;
        for case in self.cases {
            let says = self.check(tools, &folder, case)?;
            match (&self.mutant, says.failed.first()) {
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
    fn copy(&self, root: &Path, folder: &Path) -> Result {
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
            if self.proof.sources.contains(&name.as_str()) {
                sources.push((name, text));
            } else {
                write(&folder.join("kernel").join(name), &text)?;
            }
        }
        let edits = parse_edits(&read(&file(root, self.proof, "edits"))?)?;
        for edit in self.mutant.iter().chain(&edits) {
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
    fn check(&self, tools: &Tools, folder: &Path, case: &[&str]) -> Result<Says> {
        let harness = file(&tools.root, self.proof, "c");
        let harness = harness.to_string_lossy();
        let room = tools.root.join("proofs/c");
        let room = format!("-I{}", room.display());
        let mut compile = vec!["-Ikernel", &room, "-Iheaders", "-o", "program", &harness];
        compile.extend(case);
        if matches!(self.proof.bound, Bound::Exhaustion) {
            return run_to_the_end(tools, &compile, folder);
        }
        must(&tools.trixie, "goto-cc", &compile, folder)?;
        let mut words = vec!["program", "--slice-formula", "--no-standard-checks"];
        match self.proof.bound {
            Bound::Exhaustion => return Ok(Says::default()),
            Bound::Invariants => {
                let apply = ["--apply-loop-contracts", "program", "annotated"];
                must(&tools.trixie, "goto-instrument", &apply, folder)?;
                words[0] = "annotated";
            }
            Bound::Rounds(rounds) => {
                words.extend([
                    "--bounds-check",
                    "--pointer-check",
                    "--unwinding-assertions",
                ]);
                words.extend(rounds);
            }
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
