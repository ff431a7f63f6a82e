"""Builds the package as pip does for a user, and runs its tests on what is installed: `nox`, see docs/start/python.md."""

import pathlib
import shutil

import nox

HERE = pathlib.Path(__file__).parent
TARGET = HERE.parents[1] / "target" / "python"
WHEELS = TARGET / "wheels"

nox.options.default_venv_backend = "venv"
nox.options.envdir = str(TARGET / "nox")
nox.options.error_on_missing_interpreters = False
nox.options.reuse_venv = "yes"
nox.options.sessions = ["wheel", "tests-3"]


@nox.session
def wheel(session):
    """One wheel serves all versions of Python. The native part is built in a target folder that stays."""
    shutil.rmtree(WHEELS, ignore_errors=True)
    session.run("pip", "wheel", "-q", "--no-deps", "-w", str(WHEELS), str(HERE), env={"CARGO_TARGET_DIR": str(TARGET)})


@nox.session(python=["3", "3.11", "3.12", "3.13", "3.14", "3.15"])
def tests(session):
    """Further words go to pytest: `nox -- -k numpy`; --all adds what takes minutes and the large cluster engines."""
    requirements = ["-r", str(HERE / "tests/requirements.txt")]
    if "--all" in session.posargs:
        requirements += ["-r", str(HERE / "tests/requirements-all.txt")]
    session.install(*requirements)
    session.install("--force-reinstall", "--no-deps", *map(str, WHEELS.glob("*.whl")))
    # Not in the folder of the package: the tests import what was installed.
    session.chdir(session.create_tmp())
    session.run("pytest", "--config-file", str(HERE / "pyproject.toml"), *session.posargs, str(HERE / "tests"))


@nox.session(python="3")
def accelerators(session):
    """JAX on the CPU; --all adds PyTorch and the cases of minutes. In a process of their own: others fork."""
    session.install("-r", str(HERE / "tests/requirements-accelerators.txt"))
    if "--all" in session.posargs:
        session.install("-r", str(HERE / "tests/requirements-torch.txt"))
    session.install("--force-reinstall", "--no-deps", *map(str, WHEELS.glob("*.whl")))
    session.chdir(session.create_tmp())
    files = (str(HERE / "tests" / name) for name in ("test_jax.py", "test_torch.py"))
    session.run("pytest", "--config-file", str(HERE / "pyproject.toml"), *session.posargs, *files)
