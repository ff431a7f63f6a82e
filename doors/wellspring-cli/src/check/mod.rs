//! `check`: self-tests of this command on this machine, by name.
//!
//! ```text
//! known_answers   FreeBSD's answers and counters that carry, for every backend
//! streams         known answers of the reproducible streams
//! reads           modes, two threads
//! nodes           who serves whom, from when on, and whose turn a seed is
//! fork            children never repeat their parents
//! nested          a signal handler never gets the bytes of the read it interrupts
//! erasure         what was handed out is nowhere in memory
//! blocks          no 16 bytes twice
//! ```
//!
//! With --kernel they are those of the kernel module instead, which `crate::module` has.

mod blocks;
mod erasure;
mod fork;
mod known_answers;
mod nested;
mod nodes;
mod reads;
mod streams;

pub(crate) use blocks::are_distinct;
pub(crate) use known_answers::gives_freebsds_answers;

use crate::args::CheckRequest;
use crate::failure::Failure;
use crate::output::Output;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// A self-test.
pub(crate) struct Check {
    name: String,
    run: Box<dyn Fn() -> Result<String, Stop>>,
}

/// How a self-test ended.
pub(crate) type Outcome = Result<(), Stop>;

/// Why a self-test did not pass.
pub(crate) enum Stop {
    Failed(String),
    /// This machine cannot run it.
    Skipped(String),
}

impl Check {
    fn new(name: impl Into<String>, run: impl Fn() -> Outcome + 'static) -> Self {
        Self::with_figures(name, move || run().map(|()| String::new()))
    }

    /// A test that has something to say when it passes.
    pub(crate) fn with_figures(
        name: impl Into<String>,
        run: impl Fn() -> Result<String, Stop> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
        }
    }

    /// Whether `name` is its name, or what stands there before the slash.
    fn is_called(&self, name: &str) -> bool {
        self.name == name
            || self
                .name
                .split_once('/')
                .is_some_and(|(group, _)| group == name)
    }
}

fn failed(reason: impl Into<String>) -> Outcome {
    Err(Stop::Failed(reason.into()))
}

fn skipped(reason: impl Into<String>) -> Outcome {
    Err(Stop::Skipped(reason.into()))
}

/// An error of the system in the way of a test.
pub(crate) fn broken(what: &str, error: impl std::fmt::Display) -> Stop {
    Stop::Failed(format!("{what}: {error}"))
}

/// All tests, the basic ones first.
fn all() -> Vec<Check> {
    let mut checks = known_answers::checks();
    checks.push(Check::new("pseudo-streams", streams::give_known_answers));
    checks.push(Check::new("modes", reads::modes_differ));
    checks.push(Check::new("nodes/early", nodes::early_readers_go_to_node_0));
    checks.push(Check::new(
        "nodes/served",
        nodes::every_node_serves_its_cpus,
    ));
    checks.push(Check::new(
        "nodes/hungry-first",
        nodes::hungry_nodes_come_first,
    ));
    checks.push(Check::new("two-threads", reads::threads_share_nothing));
    checks.push(Check::new("fork", fork::child_differs));
    checks.push(Check::new("fork-of-fork", fork::grandchild_differs));
    checks.push(Check::new("fork-under-load", fork::child_is_not_held_up));
    checks.push(Check::new("nested", nested::handlers_share_nothing));
    checks.push(Check::new("erasure", erasure::output_is_not_kept));
    checks
}

/// Runs the command.
pub(crate) fn run(request: &CheckRequest) -> Result<(), Failure> {
    let mut checks = match request.kernel {
        true => crate::module::checks()?,
        false => all(),
    };
    for name in &request.only {
        if !checks.iter().any(|check| check.is_called(name)) {
            let reason = format!("no test is called '{name}' (see 'wellspring check --list')");
            return Err(Failure::Input(reason));
        }
    }
    let wanted = |check: &Check| {
        request.only.is_empty() || request.only.iter().any(|name| check.is_called(name))
    };
    checks.retain(wanted);
    let mut output = Output::standard()?;
    match request.list {
        true => checks
            .iter()
            .try_for_each(|check| output.print(&format!("{}\n", check.name))),
        false => run_all(&checks, &mut output),
    }
}

fn run_all(checks: &[Check], output: &mut Output) -> Result<(), Failure> {
    let whole = Instant::now();
    let (mut passes, mut failures, mut skips) = (0, 0, 0);
    for check in checks {
        let start = Instant::now();
        let panicked = |_| Err(Stop::Failed("panicked".into()));
        let outcome = catch_unwind(AssertUnwindSafe(|| (check.run)())).unwrap_or_else(panicked);
        let name = &check.name;
        output.print(&match outcome {
            Ok(figures) => {
                passes += 1;
                let separator = if figures.trim().is_empty() { "" } else { ": " };
                let time_ms = start.elapsed().as_millis();
                format!("ok {name} ({time_ms} ms){separator}{}\n", figures.trim())
            }
            Err(Stop::Failed(reason)) => {
                failures += 1;
                format!("FAILED {name}: {reason}\n")
            }
            Err(Stop::Skipped(reason)) => {
                skips += 1;
                format!("SKIPPED {name}: {reason}\n")
            }
        })?;
    }
    let seconds = whole.elapsed().as_secs_f64();
    output.print(&format!(
        "{passes} ok, {failures} failed, {skips} skipped in {seconds:.1} s\n"
    ))?;
    match failures {
        0 => Ok(()),
        _ => Err(Failure::Reported),
    }
}
