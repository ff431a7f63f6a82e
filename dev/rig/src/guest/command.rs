//! The programs of this project, linked statically for a guest that has no libraries.

use super::outcome::{Result, at, failed};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the release of the program that runs the module's tests, and returns its path.
pub(crate) fn kernel_test(root: &Path) -> Result<PathBuf> {
    println!("building kernel-test");
    let folder = build(root, &["--package", "kernel-test"])?;
    Ok(folder.join("kernel-test"))
}

/// The programs of the project, linked statically.
pub(crate) struct Programs {
    /// The command.
    pub(crate) wellspring: PathBuf,
    /// The service.
    pub(crate) wellspringd: PathBuf,
    /// A client of the service.
    pub(crate) draw: PathBuf,
}

impl Programs {
    /// Builds the release of all of them.
    pub(crate) fn build(root: &Path) -> Result<Self> {
        println!("building the command, the service and its client");
        let packages = ["wellspring-cli", "wellspring-service", "wellspring-client"];
        let mut what = vec!["--bins", "--example", "draw"];
        what.extend(packages.iter().flat_map(|package| ["--package", package]));
        let folder = build(root, &what)?;
        Ok(Self {
            wellspring: folder.join("wellspring"),
            wellspringd: folder.join("wellspringd"),
            draw: folder.join("examples/draw"),
        })
    }
}

/// Builds the release, and returns the folder with the programs.
fn build(root: &Path, what: &[&str]) -> Result<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(root)
        .args(["build", "--release", "--locked", "--quiet"])
        .args(["--target", TARGET])
        .args(what);
    cargo.env(
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
        "-C target-feature=+crt-static",
    );
    let status = cargo.status().map_err(at("cargo"))?;
    if !status.success() {
        return failed(format!("cargo: {status}"));
    }
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), |target| root.join(target));
    Ok(target.join(TARGET).join("release"))
}
