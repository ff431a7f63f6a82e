//! The Python package on aarch64: its extension in Debian's Python for arm64, with PyPI's NumPy and pytest.

use super::step::Step;
use crate::guest::{Cache, Result, Stop, at, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const FOLDER: &str = "bindings/python";

/// The version of Debian's Python, and a C library that is older than Debian's: NumPy's builds need no newer one.
const FOR: [&str; 6] = [
    "--python-version",
    "3.11",
    "--platform",
    "manylinux_2_28_aarch64",
    "--only-binary",
    ":all:",
];

/// The packages that the tests import.
const PACKAGES: [&str; 2] = ["numpy", "pytest"];

/// Known answers, secrets and identifiers, NumPy's generators, arrays. The others start many processes, need further packages,
/// or draw for minutes.
const TESTS: [&str; 4] = ["vectors", "secrets", "bit_generators", "elements"];

/// Left out: tests of these files that take a minute.
const LEFT_OUT: [&str; 2] = ["-k", "not number_of_threads and not 5000001"];

/// Builds the extension and runs these tests.
pub(super) fn package_tests(step: &Step, runner: &Path, cache: &Cache) -> Result<String> {
    let packages = packages(step, cache)?;
    step.cargo(&format!("build --manifest-path {FOLDER}/Cargo.toml"))?;
    let source = step.root.join(FOLDER);
    let folder = cache.fresh("python-arm64")?;
    let python = source.join("python/wellspring");
    run(Command::new("cp").arg("-r").arg(python).arg(&folder))?;
    let module = folder.join("wellspring/_native.abi3.so");
    fs::copy(step.built().join("lib_native.so"), &module).map_err(at(module.display()))?;

    let start = Instant::now();
    let path = format!("{}:{}", folder.display(), packages.display());
    for name in TESTS {
        let mut pytest = Command::new(runner);
        pytest.env("PYTHONPATH", &path).current_dir(&folder);
        pytest.args(["python3", "-B", "-m", "pytest", "--config-file"]);
        pytest.arg(source.join("pyproject.toml")).args(LEFT_OUT);
        run(pytest.arg(source.join(format!("tests/test_{name}.py"))))?;
    }
    let took = start.elapsed();
    Ok(format!("{} files of tests passed, {took:.0?}", TESTS.len()))
}

/// PyPI's packages for arm64, unpacked by this machine's pip, at the versions that the package is tested with.
fn packages(step: &Step, cache: &Cache) -> Result<PathBuf> {
    let list = step.root.join(FOLDER).join("tests/requirements.txt");
    let list = fs::read_to_string(&list).map_err(at(list.display()))?;
    let wanted = wanted(&list);
    let name = format!("pypi-arm64-{}", wanted.join("-"));
    let folder = cache.once(&name, |folder| {
        let venv = folder.join("venv");
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args(["install", "--quiet", "--target"])
            .arg(folder.join("packages"));
        run(pip.args(FOR).args(wanted)).map(drop)
    });
    let missing = |error| match error {
        Stop::Failed(reason) => Stop::Missing(format!("the Python package on aarch64: {reason}")),
        missing => missing,
    };
    Ok(folder.map_err(missing)?.join("packages"))
}

/// The lines of a list of requirements for these packages.
fn wanted(list: &str) -> Vec<&str> {
    let is_wanted = |line: &&str| {
        let name = line.split_once("==").map(|(name, _)| name);
        name.is_some_and(|name| PACKAGES.contains(&name))
    };
    list.lines().filter(is_wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_its_version_and_no_other_is_fetched() {
        let list = "# numpy and others\ncffi==2.1.1\nnumpy==2.4.6\npytest==9.2.0\npytest-x==1\n";
        assert_eq!(wanted(list), ["numpy==2.4.6", "pytest==9.2.0"]);
    }
}
