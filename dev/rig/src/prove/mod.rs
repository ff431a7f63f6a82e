//! `prove`: the proofs of `proofs/`, and the mutants of the code that they must refute.
//!
//! ```text
//! edits     what is changed in a copy of the code
//! c         CBMC reads C code
//! rust      the compiler and a program read Rust code
//! orders    herd7 reads litmus tests: orders of memory
//! protocol  SPIN goes through the states of a model
//! steps     the code makes the steps of a model in its order
//! ```
//!
//! A proof holds if nothing that it claims fails, and each case that it must reach is reached. A mutant is caught if
//! something that is claimed fails; an error of a tool is no catch.

mod c;
mod edits;
mod orders;
mod protocol;
mod rust;
mod steps;

use crate::guest::{Apt, Cache, Chroot, Result, Table, at, failed, run as run_quietly};
use edits::Edit;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// No answer after this time is a failure. On two idle cores the slowest proof takes a few minutes.
const LIMIT_SECONDS: &str = "1800";

/// One proof, or one mutant that it must refute.
struct Job {
    name: String,
    run: Box<Work>,
}

/// Gets the name of its job, and returns the note for the table.
type Work = dyn Fn(&Tools, &str) -> Result<String> + Send + Sync;

/// A job for each part of a proof, and one for each mutant, which the whole of it must refute. `run` gets the subject and the
/// job's own folder.
fn jobs_of<S: Clone + Send + Sync + 'static>(
    parts: Vec<(String, S)>,
    (name, whole): (&str, S),
    mutants: Vec<Edit>,
    run: fn(&S, &Tools, &str, Option<&Edit>) -> Result<String>,
) -> Result<Vec<Job>> {
    if mutants.len() < 2 {
        return failed(format!("{name}: a proof has at least two mutants"));
    }
    let proofs = parts.into_iter().map(|(name, part)| (name, part, None));
    let mutants = mutants.into_iter().map(|mutant| {
        let name = format!("{name} without: {}", mutant.name);
        (name, whole.clone(), Some(mutant))
    });
    let job = |(name, subject, mutant): (String, S, Option<Edit>)| Job {
        name,
        run: Box::new(move |tools, name| run(&subject, tools, name, mutant.as_ref())),
    };
    Ok(proofs.chain(mutants).map(job).collect())
}

/// The cells of a table: lines of cells between bars.
///
/// # Panics
///
/// If a line has another number of cells: a proof would be left out.
fn cells<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    table.lines().map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        cells
            .try_into()
            .unwrap_or_else(|_| panic!("not {N} cells: {line}"))
    })
}

/// Runs the jobs whose names begin with one of `names`, or all.
pub(crate) fn run(root: &Path, names: &[String]) -> Result {
    let mut jobs = all(root)?;
    let is_wanted = |job: &Job| names.iter().any(|name| job.name.starts_with(name.as_str()));
    jobs.retain(|job| names.is_empty() || is_wanted(job));
    let tools = Tools::fetch(root)?;
    let mut table = Table::new();
    for (name, outcome) in run_all(&jobs, &tools) {
        table.add_outcome(name, outcome)?;
    }
    table.end()
}

fn all(root: &Path) -> Result<Vec<Job>> {
    let kinds = [c::jobs, rust::jobs, orders::jobs, protocol::jobs];
    let jobs = kinds.map(|jobs| jobs(root));
    let jobs: Result<Vec<Vec<Job>>> = jobs.into_iter().collect();
    Ok(jobs?.into_iter().flatten().collect())
}

/// The outcomes of all jobs, as they come; as many run at a time as there are processors.
fn run_all(jobs: &[Job], tools: &Tools) -> impl Iterator<Item = (String, Result<String>)> {
    let next = AtomicUsize::new(0);
    let (sender, outcomes) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    let outcome = (job.run)(tools, &job.name);
                    let seconds = start.elapsed().as_secs();
                    let outcome = outcome.map(|note| format!("{note} ({seconds} s)"));
                    println!("{}: {seconds} s", job.name);
                    let _ = sender.send((job.name.clone(), outcome));
                }
            });
        }
    });
    drop(sender);
    outcomes.into_iter()
}

/// The programs, in Debian systems of the suites that have them.
struct Tools {
    root: PathBuf,
    cache: Cache,
    /// With CBMC, SPIN and a compiler.
    trixie: Chroot,
    /// With herd7.
    sid: Chroot,
    /// Linux' memory model.
    memory_model: PathBuf,
}

impl Tools {
    fn fetch(root: &Path) -> Result<Self> {
        let cache = Cache::open(root)?;
        let system = |suite: &str, packages: &str| -> Result<Chroot> {
            let install =
                format!("apt-get install --yes --quiet --no-install-recommends {packages}");
            let chroot =
                Chroot::fetch_and_run(&cache, &format!("system-{suite}-prove"), suite, &install)?;
            Ok(chroot.share(root, &root.to_string_lossy()))
        };
        let trixie = system("trixie", "cbmc gcc libc6-dev spin xz-utils")?;
        let sid = system("sid", "herdtools7")?;
        let memory_model = cache.once("memory-model", |folder| {
            let apt = Apt::new(folder, &["bookworm"])?;
            apt.unpack(["linux-source-6.1"], folder)?;
            let archive = folder.join("usr/src/linux-source-6.1.tar.xz");
            let mut tar = trixie.command("tar");
            tar.args(["--strip-components=3", "--wildcards", "-xJf"])
                .arg(&archive);
            tar.arg("-C")
                .arg(folder)
                .arg("*/tools/memory-model/linux-kernel.*");
            run_quietly(tar.arg("*/tools/memory-model/lock.cat"))?;
            std::fs::remove_file(&archive).map_err(at(archive.display()))
        })?;
        Ok(Self {
            root: root.to_owned(),
            cache,
            trixie,
            sid,
            memory_model,
        })
    }

    /// An empty folder for a job. It has the same path inside of the systems.
    fn folder(&self, name: &str) -> Result<PathBuf> {
        let name: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        self.cache.fresh(&format!("prove/{name}"))
    }
}

/// The exit status and the output of a program, which is ended after [`LIMIT_SECONDS`].
fn answer(chroot: &Chroot, program: &str, words: &[&str], folder: &Path) -> Result<(i32, String)> {
    let mut command = chroot.command("env");
    command.arg(format!("--chdir={}", folder.display()));
    // In the group of this process: what ends the group ends the program too.
    command.args(["timeout", "--foreground", LIMIT_SECONDS, program]);
    command.args(words);
    let output = command.output().map_err(at(program))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(124) | None => failed(format!("{program}: no answer in {LIMIT_SECONDS} s")),
        Some(code) => Ok((code, text.into_owned())),
    }
}

fn must(chroot: &Chroot, program: &str, words: &[&str], folder: &Path) -> Result<String> {
    match answer(chroot, program, words, folder)? {
        (0, text) => Ok(text),
        (code, text) => failed(format!("{program} {}: {code}\n{text}", words.join(" "))),
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(at(path.display()))
}

fn write(path: &Path, text: &str) -> Result {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(at(folder.display()))?;
    }
    std::fs::write(path, text).map_err(at(path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_proof_has_its_files_its_cases_and_its_mutants() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let jobs = all(root.ancestors().nth(2).unwrap()).unwrap();
        let names: BTreeSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names.len(), jobs.len(), "two have one name: {names:#?}");
        for proof in [
            "P1 ", "P2 ", "P3 ", "P4 ", "P5 ", "P6 ", "P7 ", "P8 ", "P10 ",
        ] {
            assert!(
                names.iter().any(|name| name.starts_with(proof)),
                "{proof}: {names:#?}"
            );
        }
    }
}
