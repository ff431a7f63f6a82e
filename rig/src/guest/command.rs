//! The command `wellspring`, linked statically for a guest that has no libraries.

use super::outcome::{Result, at, failed};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the release, linked statically, and returns its path.
pub(crate) fn command(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(root)
        .args(["build", "--release", "--locked", "--quiet"]);
    cargo.args(["--package", "wellspring-cli", "--target", TARGET]);
    cargo.env(
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
        "-C target-feature=+crt-static",
    );
    println!("building the command");
    let status = cargo.status().map_err(at("cargo"))?;
    if !status.success() {
        return failed(format!("cargo: {status}"));
    }
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), |target| root.join(target));
    Ok(target.join(TARGET).join("release/wellspring"))
}
