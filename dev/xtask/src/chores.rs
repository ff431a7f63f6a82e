//! Chores that call another program: a step of `.ci/steps`, the rig, the benchmark; and `dist`, which builds a release.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command of `wellspring-rig`. It is another program, since few people need it.
pub(crate) fn rig(name: &str, words: impl Iterator<Item = String>) -> Result<(), String> {
    let fixed = "run --quiet --locked --package wellspring-rig --";
    run(cargo().args(fixed.split(' ')).arg(name).args(words))
}

/// Runs a step of `.ci/steps`: the gate runs most of them too.
pub(crate) fn step(
    kind: &str,
    name: &str,
    words: impl Iterator<Item = String>,
) -> Result<(), String> {
    let mut steps = Command::new(root().join(".ci/steps"));
    run(steps.args([kind, name]).args(words))
}

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The paths of the files in `root` that git tracks.
pub(crate) fn tracked(root: &Path) -> Result<Vec<String>, String> {
    let git = env::var_os("GIT").unwrap_or_else(|| "git".into());
    let output = Command::new(git).arg("ls-files").current_dir(root).output();
    let output = output.map_err(|error| format!("git ls-files: {error}"))?;
    let listed = String::from_utf8_lossy(&output.stdout);
    let paths: Vec<String> = listed.lines().map(String::from).collect();
    if paths.is_empty() {
        return Err("git ls-files lists no files".into());
    }
    Ok(paths)
}

/// Cargo, in the folder of the repository.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// The status by which a program says that it was not run, for want of something. The gate knows it.
const SKIPPED: i32 = 77;

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        // The program said why.
        Ok(status) if status.code() == Some(SKIPPED) => std::process::exit(SKIPPED),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

/// The peers of the benchmark. They are outside the workspace, to keep them out of the dependency tree.
pub(crate) fn bench(words: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<String> = words.collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    let counts = has(&["--counts", "--write-counts"]);
    let gates = has(&["--check-wanted", "--against"]);
    if counts || !gates {
        // The libraries that it loads.
        let doors = "build --release --locked --package wellspring-c --package wellspring-preload --package wellspring-openssl";
        run(cargo().args(doors.split(' ')))?;
    }
    let fixed = if counts || gates {
        // They compare with Rust's generators alone, so this is built without C libraries; and as a user builds a program,
        // without link-time optimisation.
        "run --profile user --locked --no-default-features --manifest-path dev/bench/Cargo.toml --"
    } else {
        "run --release --locked --manifest-path dev/bench/Cargo.toml --"
    };
    run(cargo().args(fixed.split(' ')).args(words))
}

/// Builds the parts of a release that are named, or all, into `dist/VERSION`: RELEASING.md has the words. `compare` builds them
/// twice, to see that both are the same; `sign` signs them, and `try` uses them in a new Debian.
pub(crate) fn dist(words: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<String> = words.collect();
    let out = concat!("dist/", env!("CARGO_PKG_VERSION"));
    let (script, fixed, rest): (_, &[&str], _) = match words.split_first() {
        Some((word, rest)) if word == "compare" => ("compare.sh", &[], rest),
        Some((word, rest)) if word == "sign" => ("sign.sh", &[out], rest),
        Some((word, rest)) if word == "try" => ("try.sh", &[out], rest),
        _ => ("build.sh", &["target/dist", out], &words[..]),
    };
    let script = root().join("packaging/dist").join(script);
    run(Command::new(script)
        .current_dir(root())
        .args(fixed)
        .args(rest))
}
