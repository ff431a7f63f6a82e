//! `python`: the Python package in a virtual environment of its own, and its tests.

use crate::chores::{root, run, skip};
use std::collections::BTreeMap;
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

/// Builds and installs the package as a user does, with `pip install`, and runs pytest. `--all` adds what takes minutes, the
/// large cluster engines and the other interpreters; `--with PATH` adds an interpreter; further words go to pytest.
pub(crate) fn python(words: impl Iterator<Item = String>) -> Result<(), String> {
    let Some(version) = version_of("python3") else {
        return skip(
            "there is no Python 3.11 or later with venv and pip (packages python3, python3-venv)",
        );
    };
    let Request {
        all,
        others,
        pytest,
    } = Request::from_words(words, version)?;
    let environment = Environment::new("python3", "python-venv")?;
    let requirements = door().join("tests/requirements.txt");
    environment.pip_install(&["-r".as_ref(), &requirements])?;
    if all {
        let requirements = door().join("tests/requirements-all.txt");
        environment.pip_install(&["-r".as_ref(), &requirements])?;
    }
    environment.pip_install(&["--force-reinstall".as_ref(), "--no-deps".as_ref(), &door()])?;
    let heavy = if all { vec!["--all".into()] } else { vec![] };
    environment.test(&[heavy, pytest.clone()].concat())?;
    if others.is_empty() {
        return Ok(());
    }
    let wheel = environment.wheel()?;
    for (version, interpreter) in others {
        println!("\nthe same wheel with Python {version}, {interpreter}");
        let other = Environment::new(&interpreter, &format!("python-venv-{version}"))?;
        other.pip_install(&["-r".as_ref(), &requirements])?;
        other.pip_install(&["--force-reinstall".as_ref(), "--no-deps".as_ref(), &wheel])?;
        other.test(&pytest)?;
    }
    Ok(())
}

/// The words of the command line, sorted.
#[derive(Default)]
struct Request {
    all: bool,
    /// Versions and interpreters beside `python3`.
    others: BTreeMap<String, String>,
    /// The words for pytest.
    pytest: Vec<String>,
}

impl Request {
    /// `version` is that of `python3`.
    fn from_words(
        mut words: impl Iterator<Item = String>,
        version: String,
    ) -> Result<Self, String> {
        let mut request = Self::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--all" => request.all = true,
                "--with" => {
                    let path = words.next().unwrap_or_default();
                    let version = version_of(&path).ok_or_else(|| {
                        format!("--with: '{path}' is no Python 3.11 or later with venv and pip")
                    })?;
                    request.others.insert(version, path);
                }
                _ => request.pytest.push(word),
            }
        }
        if request.all {
            let installed = OTHERS.map(|name| (version_of(name), name.into()));
            let versions = installed
                .into_iter()
                .filter_map(|(version, name)| Some((version?, name)));
            request.others.extend(versions);
        }
        request.others.remove(&version);
        Ok(request)
    }
}

/// The version of an interpreter that the package can be installed for.
fn version_of(interpreter: &str) -> Option<String> {
    let mut probe = Command::new(interpreter);
    let output = probe.args(["-c", PROBE]).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| version.trim().into())
}

/// A virtual environment in the target folder.
struct Environment(PathBuf);

impl Environment {
    fn new(interpreter: &str, name: &str) -> Result<Self, String> {
        let folder = root().join("target").join(name);
        if !folder.join("bin/pip").exists() {
            run(Command::new(interpreter)
                .args(["-m", "venv", "--clear"])
                .arg(&folder))?;
        }
        Ok(Self(folder))
    }

    fn pip(&self, words: &[&str]) -> Command {
        let mut pip = Command::new(self.0.join("bin/pip"));
        pip.args(words)
            .args(["--quiet", "--disable-pip-version-check"]);
        // The native part is built in a target folder that stays.
        pip.env("CARGO_TARGET_DIR", target());
        pip
    }

    fn pip_install(&self, words: &[&Path]) -> Result<(), String> {
        run(self.pip(&["install"]).args(words))
    }

    /// Builds the package; returns the file.
    fn wheel(&self) -> Result<PathBuf, String> {
        let folder = target().join("wheels");
        let _ = std::fs::remove_dir_all(&folder);
        run(self
            .pip(&["wheel", "--no-deps", "--wheel-dir"])
            .arg(&folder)
            .arg(door()))?;
        let files = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
        let mut files = files.filter_map(|file| Some(file.ok()?.path()));
        files.next().ok_or_else(|| "pip made no wheel".into())
    }

    /// Runs the tests of what is installed.
    fn test(&self, words: &[String]) -> Result<(), String> {
        let mut pytest = Command::new(self.0.join("bin/python"));
        pytest.args(["-m", "pytest"]).args(words);
        // Not in the folder of the package: the tests import what was installed.
        run(pytest
            .arg("--config-file")
            .arg(door().join("pyproject.toml"))
            .arg(door().join("tests"))
            .current_dir(&self.0))
    }
}

fn door() -> PathBuf {
    root().join(DOOR)
}

fn target() -> PathBuf {
    root().join("target/python")
}
