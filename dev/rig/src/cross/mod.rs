//! `cross`: known answers, self-tests and vector tests on other processors, and the engine's tests on aarch64, by QEMU's
//! user-mode emulation.
//!
//! ```text
//! step     a command of cargo, or of the project's own, for another processor
//! doors    the doors on aarch64, with Debian's programs for it
//! python   the Python package, likewise
//! machine  an aarch64 machine with a kernel of its own, also with four nodes; the service in it
//! ```
//!
//! It needs the standard library of a target (rustup target add), and a C compiler and C library of Debian for it, which the
//! gate installs. A processor without them is skipped. QEMU comes from Debian's backports: Debian 12's QEMU 7.2 accepts
//! MADV_WIPEONFORK and does nothing, so that a child has its parent's bytes.

mod doors;
mod machine;
mod python;
mod step;

use crate::guest::{Cache, Result, Stop, Table, qemu_user, run};
use std::env;
use std::path::Path;
use std::process::Command;
use step::{Step, Target};

pub(crate) const AARCH64: Target = ("aarch64", "aarch64-unknown-linux-gnu");

/// aarch64 is the most common one after x86-64; s390x is big-endian; riscv64 has neither AES nor vectors in its base.
const TARGETS: [Target; 3] = [
    AARCH64,
    ("s390x", "s390x-unknown-linux-gnu"),
    ("riscv64", "riscv64gc-unknown-linux-gnu"),
];

/// The packages whose tests compare with known answers, search the stack, and run under emulation without exception.
/// Statistics are left out.
const TESTS: &str = "test --quiet --lib --package wellspring-cipher --package wellspring-core \
    --package wellspring-pseudo --test answers --test pipeline --test residue --test statistics --test vectors \
    -- --skip families:: --skip memory:: --skip zeroed::";

/// Tests that search registers and stack, in optimised code, on aarch64: the compiler keeps other values there.
const OPTIMISED: &str =
    "test --quiet --release --package wellspring-cipher --test answers --test residue";

/// Tests of the engine, on aarch64: fork, copies of a machine, reseeds, seed files, modes, sources. QEMU's user mode cannot run
/// the others. It has no vDSO getrandom, no ptrace(2) (`faults`, `traced`), and no VmFlags in smaps
/// (`memory`), gives no limit to memory (`shortage`, `many`), and keeps signals for itself (the test that is skipped). It
/// refuses filters of seccomp(2), so that `sandbox` tests little. `churn`, `limits`, `past_reads`, `secrets` and `stack_use`
/// take more than 150 s there, and `unload` hung once in a child. `nested` and `raw_clones` use the trap flag of x86-64.
const ENGINE: &str = "test --quiet --package wellspring --package wellspring-os --package wellspring-pseudo-thread \
    --package wellspring-interpose --lib \
    --test copies --test core_dump --test engine --test every_system --test fork --test harvester --test inheritance \
    --test sandbox --test states --test surroundings --test thread_exit \
    -- --skip a_thread_without_signals_still_answers_libc --skip limits::";

/// A processor without RNDR, and with the instructions for AES, which every processor that QEMU knows has.
const WITHOUT_RNDR: &str = "neoverse-n1";

/// Runs the command for these processors, or for all if no name is given; all parts, or one.
pub(crate) fn run_all(root: &Path, names: &[String], part: Option<&str>) -> Result {
    let is_named = |(name, _): &Target| names.is_empty() || names.iter().any(|word| word == name);
    let named = TARGETS.into_iter().filter(is_named);
    let (here, missing): (Vec<Target>, Vec<Target>) = named.partition(is_here);
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
        let reason = format!(
            "{}: no standard library (rustup target add), or no gcc-NAME-linux-gnu with its C library",
            names.join(", ")
        );
        if here.is_empty() {
            return Err(Stop::Missing(reason));
        }
        println!("SKIPPED: {reason}");
    }
    let is_wanted = |name| part.is_none_or(|part| part == name);
    let cache = Cache::open(root)?;
    let qemu = qemu_user(&cache)?;
    let mut table = Table::new();
    for target in here {
        let step = Step {
            root,
            qemu: &qemu,
            target,
            model: "max",
        };
        if is_wanted("answers") {
            add_answers(&mut table, &step)?;
        }
        let step = Step {
            model: WITHOUT_RNDR,
            ..step
        };
        // They need more of this machine than the others do.
        if target == AARCH64 && is_wanted("doors") {
            skip_missing(doors::add_rows(&mut table, &step, &cache))?;
        }
        if target == AARCH64 && is_wanted("machine") {
            skip_missing(machine::add_rows(&mut table, &step, &cache))?;
        }
    }
    table.end()
}

/// Known answers, self-tests and vector tests; on aarch64 the engine's tests too.
fn add_answers(table: &mut Table, step: &Step) -> Result {
    let name = step.target.0;
    let built = step.cargo("build --package wellspring-cli");
    let is_built = built.is_ok();
    table.add_outcome(format!("{name} build"), built)?;
    if is_built {
        let replay = step.wellspring("replay --check vectors/fortuna-freebsd.txt");
        table.add_outcome(format!("{name} replay"), replay)?;
        table.add_outcome(format!("{name} check"), step.wellspring("check"))?;
    }
    table.add_outcome(format!("{name} tests"), step.cargo(TESTS))?;
    if step.target == AARCH64 {
        table.add_outcome(format!("{name} optimised"), step.cargo(OPTIMISED))?;
        table.add_outcome(format!("{name} engine"), step.cargo(ENGINE))?;
        let step = Step {
            model: WITHOUT_RNDR,
            ..*step
        };
        let check = step.wellspring("check");
        table.add_outcome(format!("{name} check, {WITHOUT_RNDR}"), check)?;
    }
    Ok(())
}

/// Says what is missing for a part, and goes on.
fn skip_missing(result: Result) -> Result {
    match result {
        Err(Stop::Missing(reason)) => {
            println!("SKIPPED: {reason}");
            Ok(())
        }
        result => result,
    }
}

/// Whether this machine can build for a target.
pub(crate) fn is_here((name, target): &Target) -> bool {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let library = run(rustc.args(["--print", "target-libdir", "--target", target]));
    let library = library.is_ok_and(|folder| Path::new(folder.trim()).is_dir());
    let files = [
        format!("/usr/bin/{name}-linux-gnu-gcc"),
        format!("/usr/{name}-linux-gnu/lib/libc.so"),
    ];
    library && files.iter().all(|file| Path::new(file).exists())
}
