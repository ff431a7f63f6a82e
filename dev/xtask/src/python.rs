//! `python`: the Python package in virtual environments of its own, and its tests.

use crate::chores::{root, run, skip};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package.
const DOOR: &str = "doors/wellspring-python";

/// Prints the version of an interpreter that has venv and pip. 3.11 is the first whose stable API has the buffer protocol.
const PROBE: &str = "import sys, venv, ensurepip; print(sys.version.split()[0]); sys.exit(sys.version_info < (3, 11))";

/// Interpreters that are tested too with `--all`, where they are installed: one wheel serves all of them.
const OTHERS: [&str; 5] = [
    "python3.11",
    "python3.12",
    "python3.13",
    "python3.14",
    "python3.15",
];

/// Builds the package as pip does for a user, and runs pytest on what is installed. `--all` adds what takes minutes, the
/// large cluster engines and the other interpreters; `--with PATH` adds an interpreter; further words go to pytest.
pub(crate) fn python(mut words: impl Iterator<Item = String>) -> Result<(), String> {
    let Some(first) = version_of("python3") else {
        return skip(
            "there is no Python 3.11 or later with venv and pip (packages python3, python3-venv)",
        );
    };
    let (mut is_all, mut pytest) = (false, Vec::new());
    let mut others = BTreeMap::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--all" => is_all = true,
            "--with" => {
                let path = words.next().unwrap_or_default();
                let version = version_of(&path).ok_or_else(|| {
                    format!("--with: '{path}' is no Python 3.11 or later with venv and pip")
                })?;
                others.insert(version, path);
            }
            _ => pytest.push(word),
        }
    }
    if is_all {
        let installed = OTHERS.map(|name| Some((version_of(name)?, name.to_owned())));
        others.extend(installed.into_iter().flatten());
    }
    others.remove(&first);
    let first = environment("python3", "python-venv")?;
    let wheel = wheel(&first)?;
    test(&first, &wheel, is_all, &pytest)?;
    for (version, interpreter) in others {
        println!("\nthe same wheel with Python {version}, {interpreter}");
        let other = environment(&interpreter, &format!("python-venv-{version}"))?;
        test(&other, &wheel, false, &pytest)?;
    }
    Ok(())
}

/// The version of an interpreter that the package can be installed for.
fn version_of(interpreter: &str) -> Option<String> {
    let output = Command::new(interpreter)
        .args(["-c", PROBE])
        .output()
        .ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| version.trim().into())
}

/// A virtual environment in the target folder.
fn environment(interpreter: &str, name: &str) -> Result<PathBuf, String> {
    let folder = root().join("target").join(name);
    if !folder.join("bin/pip").exists() {
        let mut venv = Command::new(interpreter);
        run(venv.args(["-m", "venv", "--clear"]).arg(&folder))?;
    }
    Ok(folder)
}

fn pip(environment: &Path, words: &[&str]) -> Command {
    let mut pip = Command::new(environment.join("bin/pip"));
    pip.args(["--quiet", "--disable-pip-version-check"])
        .args(words);
    // The native part is built in a target folder that stays.
    pip.env("CARGO_TARGET_DIR", root().join("target/python"));
    pip
}

/// Builds the package; returns the file.
fn wheel(environment: &Path) -> Result<PathBuf, String> {
    let folder = root().join("target/python/wheels");
    let _ = fs::remove_dir_all(&folder);
    let mut pip = pip(environment, &["wheel", "--no-deps", "--wheel-dir"]);
    run(pip.arg(&folder).arg(root().join(DOOR)))?;
    let files = fs::read_dir(&folder).map_err(|error| error.to_string())?;
    let mut files = files.filter_map(|file| Some(file.ok()?.path()));
    files.next().ok_or_else(|| "pip made no wheel".into())
}

/// Installs the package and what its tests need, and runs them.
fn test(environment: &Path, wheel: &Path, is_all: bool, words: &[String]) -> Result<(), String> {
    let tests = root().join(DOOR).join("tests");
    let mut needs = pip(environment, &["install", "-r"]);
    needs.arg(tests.join("requirements.txt"));
    let mut pytest = Command::new(environment.join("bin/python"));
    pytest.args(["-m", "pytest"]);
    if is_all {
        needs.arg("-r").arg(tests.join("requirements-all.txt"));
        pytest.arg("--all");
    }
    run(&mut needs)?;
    run(pip(environment, &["install", "--force-reinstall", "--no-deps"]).arg(wheel))?;
    let configuration = root().join(DOOR).join("pyproject.toml");
    pytest.args(words).arg("--config-file").arg(configuration);
    // Not in the folder of the package: the tests import what was installed.
    run(pytest.arg(tests).current_dir(environment))
}
