//! The programs of this project, linked statically for a guest that has no libraries.

use super::outcome::{Result, Stop, at, failed};
use super::vm::Processor;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the release of the program that runs the module's tests, and returns its path.
pub(crate) fn kernel_test(root: &Path, processor: Processor) -> Result<PathBuf> {
    println!("building kernel-test");
    let folder = build_for(processor, root, &["--package", "kernel-test"])?;
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

/// The command, linked statically, and the libraries of guards, which need the C library of Debian 12.
pub(crate) struct Guards {
    pub(crate) wellspring: PathBuf,
    pub(crate) preload: PathBuf,
    /// The module of the Python package.
    pub(crate) python: PathBuf,
}

/// Builds them.
pub(crate) fn guards(root: &Path) -> Result<Guards> {
    println!("building the command and the libraries of guards");
    let library = |words: &[&str], folder: &str, name: &str| {
        let mut cargo = cargo(root);
        finish(cargo.args(words))?;
        Ok::<_, Stop>(target_folder(root).join(folder).join("release").join(name))
    };
    let preload = ["--package", "wellspring-preload"];
    // A folder of its own, as `cargo xtask python` has it: it is another workspace.
    let folder = target_folder(root).join("python");
    let folder = folder.to_string_lossy();
    let manifest = "bindings/python/Cargo.toml";
    let python = ["--manifest-path", manifest, "--target-dir", &folder];
    Ok(Guards {
        wellspring: build(root, &["--package", "wellspring-cli"])?.join("wellspring"),
        preload: library(&preload, "", "libwellspring_preload.so")?,
        python: library(&python, "python", "lib_native.so")?,
    })
}

/// Builds the release, and returns the folder with the programs.
fn build(root: &Path, what: &[&str]) -> Result<PathBuf> {
    build_for(Processor::X86_64, root, what)
}

fn build_for(processor: Processor, root: &Path, what: &[&str]) -> Result<PathBuf> {
    let (target, tools) = processor.target();
    let variable = format!("CARGO_TARGET_{}", target.to_uppercase().replace('-', "_"));
    let mut cargo = cargo(root);
    cargo.args(["--target", target]).args(what);
    if processor != Processor::X86_64 {
        cargo.env(format!("{variable}_LINKER"), format!("{tools}gcc"));
    }
    finish(cargo.env(
        format!("{variable}_RUSTFLAGS"),
        "-C target-feature=+crt-static",
    ))?;
    Ok(target_folder(root).join(target).join("release"))
}

fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(root)
        .args(["build", "--release", "--locked", "--quiet"]);
    cargo
}

fn finish(cargo: &mut Command) -> Result {
    let status = cargo.status().map_err(at("cargo"))?;
    if status.success() {
        Ok(())
    } else {
        failed(format!("cargo: {status}"))
    }
}

fn target_folder(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), |target| root.join(target))
}
