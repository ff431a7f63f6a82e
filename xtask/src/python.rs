//! `python`: the Python package in a virtual environment of its own, and its tests.

use crate::chores::{root, run, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The package.
const DOOR: &str = "doors/wellspring-python";

/// The first Python whose stable API has the buffer protocol.
const OLDEST: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/// Builds and installs the package as a user does, with `pip install`, and runs pytest. `--all` adds what takes minutes and
/// the large cluster engines; further words go to pytest.
pub(crate) fn python(words: impl Iterator<Item = String>) -> Result<(), String> {
    let (all, words): (Vec<String>, Vec<String>) = words.partition(|word| word == "--all");
    let mut probe = Command::new("python3");
    probe.args(["-c", OLDEST]).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        return skip(
            "there is no Python 3.11 or later with venv and pip (packages python3, python3-venv)",
        );
    }
    let environment = root().join("target/python-venv");
    if !environment.join("bin/pip").exists() {
        run(Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&environment))?;
    }
    let door = root().join(DOOR);
    pip(
        &environment,
        &["-r".as_ref(), &door.join("tests/requirements.txt")],
    )?;
    if !all.is_empty() {
        pip(
            &environment,
            &["-r".as_ref(), &door.join("tests/requirements-all.txt")],
        )?;
    }
    pip(
        &environment,
        &["--force-reinstall".as_ref(), "--no-deps".as_ref(), &door],
    )?;
    let mut pytest = Command::new(environment.join("bin/python"));
    pytest.args(["-m", "pytest"]).args(&all).args(words);
    // Not in the folder of the package: the tests import what was installed.
    run(pytest
        .arg("--config-file")
        .arg(door.join("pyproject.toml"))
        .arg(door.join("tests"))
        .current_dir(&environment))
}

/// `pip install`. The native part is built in a target folder that stays.
fn pip(environment: &Path, words: &[&Path]) -> Result<(), String> {
    let mut pip = Command::new(environment.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]);
    run(pip.args(words).env("CARGO_TARGET_DIR", target()))
}

fn target() -> PathBuf {
    root().join("target/python")
}
