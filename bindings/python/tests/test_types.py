"""The types: what mypy says of the package, and of a program that uses it."""

import subprocess
import sys
from pathlib import Path

import pytest

import wellspring

PROGRAM = """
import numpy as np
import wellspring
from wellspring import random, secrets

key: bytes = wellspring.token_bytes(32)
pin: int = secrets.randbelow(10**6)
name: str = secrets.token_hex()
letter: str = secrets.choice("abc")
share: float = wellspring.SystemRandom().random()
rng: np.random.Generator = random.default_rng(5, path="3/1")
child: random.ChaCha8 = random.ChaCha8(5).jumped().at(8)
place: int = child.position
wrong: int = secrets.token_hex()
also_wrong: random.ChaCha8 = random.Engine()
random.Elements(5, threads="2")
"""


def mypy(*arguments):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert not result.stderr, result.stderr
    return result.stdout.splitlines()


def test_the_package_has_its_types(tmp_path, monkeypatch):
    folder = Path(wellspring.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_native.pyi").exists()
    # In an empty folder: mypy takes packages below the current one for the program's own.
    monkeypatch.chdir(tmp_path)
    assert mypy("--cache-dir=/dev/null", "-p", "wellspring") == []


def test_a_program_is_checked(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    wrong = [line.split(":")[1] for line in mypy("--cache-dir=/dev/null", path) if ": error:" in line]
    first_wrong = PROGRAM.splitlines().index("wrong: int = secrets.token_hex()") + 1
    assert wrong == [str(first_wrong), str(first_wrong + 1), str(first_wrong + 2)]


def test_the_stub_has_every_native_name():
    from wellspring import _native

    stub = (Path(wellspring.__file__).parent / "_native.pyi").read_text()
    for name in (name for name in dir(_native) if not name.startswith("_")):
        assert f"def {name}(" in stub or f"class {name}:" in stub, name
        for method in vars(getattr(_native, name)) if isinstance(getattr(_native, name), type) else ():
            assert method.startswith("__") or f"def {method}(" in stub, (name, method)


def test_every_public_name_has_a_documentation():
    from wellspring import random, secrets

    for module in (wellspring, secrets, random):
        assert module.__doc__
        for name in module.__all__:
            thing = getattr(module, name)
            assert thing.__doc__, name
            for method, value in vars(thing).items() if isinstance(thing, type) else ():
                if not method.startswith("_") and callable(value):
                    assert value.__doc__, (name, method)
