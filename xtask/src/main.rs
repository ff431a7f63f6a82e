//! The project's own chores: `cargo xtask CHORE`.

#![forbid(unsafe_code)]

mod cutoffs;
mod tidy;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask CHORE
  tidy   check the house rules that a program can check
  loom   run the lock-free parts under every interleaving
  cutoffs [--check]
         compute the table of the adaptive proportion test's cutoffs; --check compares it only
  deny   check the dependency tree (needs cargo-deny)
  bench  measure the ladder with everyone else's generators on it; further words go to it (--quick, ..)
  rig    the command in a machine of four nodes, over a reboot, and in two copies of a machine
  kernel-test [6.1|6.12|7.2|debug].. [--boots N]
         the kernel module on these kernels (6.1 and 6.12 if none is named), each booted N times";

fn main() -> ExitCode {
    let chore = env::args().nth(1);
    let done = match chore.as_deref() {
        Some("tidy") => tidy::run(&root()),
        Some("loom") => loom(),
        Some("cutoffs") => cutoffs::run(&root(), env::args().any(|word| word == "--check")),
        Some("deny") => run(cargo().args(["deny", "check", "bans", "licenses", "sources"])),
        Some("bench") => bench(),
        Some("rig") => rig("machines"),
        Some("kernel-test") => rig("kernel-test"),
        Some("cross") => rig("cross"),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

/// Another program, since machines in QEMU are much code and few people need them.
fn rig(command: &str) -> Result<(), String> {
    run(cargo()
        .args([
            "run",
            "--quiet",
            "--locked",
            "--package",
            "wellspring-rig",
            "--",
        ])
        .arg(command)
        .args(env::args_os().skip(2)))
}

/// A target folder of its own, since `cfg(loom)` changes every crate.
fn loom() -> Result<(), String> {
    run(cargo()
        .env("RUSTFLAGS", "--cfg loom")
        .args([
            "test",
            "--release",
            "--package",
            "wellspring-core",
            "--test",
            "loom",
        ])
        .args(["--target-dir", "target/loom"]))
}

/// Outside the workspace, so that the peers stay out of the product's dependency tree.
fn bench() -> Result<(), String> {
    run(cargo()
        .args([
            "run",
            "--release",
            "--locked",
            "--manifest-path",
            "bench/Cargo.toml",
            "--",
        ])
        .args(env::args_os().skip(2)))
}
