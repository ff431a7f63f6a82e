//! `check`: self-tests of this command on this machine, by name.
//!
//! ```text
//! answers    known answers of the engine and of the reproducible streams; modes, two threads
//! processes  children never repeat their parents; a signal handler never gets the bytes of the read that it interrupts
//! outcome    a test, its name and its outcome; no 16 bytes twice
//! machine    which node serves which CPU; bytes that a read returned are nowhere else in memory
//! ```

mod answers;
#[cfg(target_os = "linux")]
mod machine;
mod outcome;
#[cfg(unix)]
mod processes;

use crate::streams::{Failure, Output};
use clap::Args;
use outcome::{Check, Stop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Test this command on this machine
///
/// One line for each test: ok, FAILED with the reason, or SKIPPED with the reason. The exit status is 1 if a test
/// failed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring check
  wellspring check --only fork,nested
  wellspring check --only known-answers       all tests of that group")]
pub(crate) struct CheckRequest {
    /// Print the names of the tests, and run none
    #[arg(long)]
    list: bool,

    /// Run only these tests: names, or the part before the slash that several names share
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(request: &CheckRequest) -> Result<(), Failure> {
    let mut checks = all();
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
    if request.list {
        let mut names = checks.iter().map(Check::name);
        return names.try_for_each(|name| output.print(&format!("{name}\n")));
    }
    run_all(&checks, &mut output)
}

fn run_all(checks: &[Check], output: &mut Output) -> Result<(), Failure> {
    let whole = Instant::now();
    let (mut passes, mut failures, mut skips) = (0, 0, 0);
    for check in checks {
        let start = Instant::now();
        let panicked = |_| Err(Stop::Failed("panicked".into()));
        let outcome = catch_unwind(AssertUnwindSafe(|| check.run())).unwrap_or_else(panicked);
        let name = check.name();
        output.print(&match outcome {
            Ok(()) => {
                passes += 1;
                format!("ok {name} ({} ms)\n", start.elapsed().as_millis())
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
    if failures > 0 {
        return Err(Failure::Reported);
    }
    Ok(())
}

/// All tests, the basic ones first.
fn all() -> Vec<Check> {
    let mut checks = answers::checks();
    checks.push(Check::new("pseudo-streams", answers::give_known_answers));
    checks.push(Check::new("modes", answers::modes_differ));
    #[cfg(target_os = "linux")]
    checks.extend([
        Check::new("nodes/early", machine::early_readers_go_to_node_0),
        Check::new("nodes/served", machine::every_node_serves_its_cpus),
        Check::new("nodes/ordered", machine::an_order_reseeds_every_node),
    ]);
    checks.push(Check::new("two-threads", answers::threads_share_nothing));
    #[cfg(unix)]
    checks.extend([
        Check::new("fork", processes::child_differs),
        Check::new("fork-of-fork", processes::grandchild_differs),
        Check::new("fork-under-load", processes::child_is_not_held_up),
        Check::new("wiped-by-kernel", processes::kernel_wipes),
        Check::new("nested", processes::handlers_share_nothing),
    ]);
    #[cfg(target_os = "linux")]
    checks.push(Check::new("erasure", machine::output_is_not_kept));
    checks
}
