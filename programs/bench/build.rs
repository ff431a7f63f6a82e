//! Tells the crate the compiler, and from which git commit it is built, if from one: reports name them.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src");
    let compiler = std::env::var("RUSTC").expect("cargo names the compiler");
    let compiler = run(&compiler, &["--version"]).unwrap_or_default();
    println!("cargo::rustc-env=WELLSPRING_COMPILER={compiler}");
    // A package from a registry may be inside another project's checkout: then this file is not tracked.
    if git(&["ls-files", "--error-unmatch", "build.rs"]).is_none() {
        return;
    }
    // Git writes here with every commit and checkout.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = git(&[
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ]) {
        println!("cargo::rustc-env=WELLSPRING_COMMIT={commit}");
    }
}

fn git(words: &[&str]) -> Option<String> {
    run("git", words)
}

fn run(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
