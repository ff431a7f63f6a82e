"""Names, types and documentation: what a user types first, what mypy says, and the programs in documents and docstrings."""

import doctest
import importlib.util
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wellspring
from wellspring.random import Elements, _bit_generators, _distributions, _elements, default_rng

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = ["docs/start/python.md", "docs/how-to/science.md", "bindings/python/README.md"]


def programs(document):
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def run(program, capsys):
    names = {"simulate": lambda start, noise: start.sum() + noise.sum()}
    exec(compile(program, "document", "exec"), names)  # noqa: S102
    return names, capsys.readouterr().out.splitlines()


def test_every_document_has_programs():
    assert all(map(programs, DOCUMENTS))


@pytest.mark.parametrize(("document", "number"), [(name, i) for name in DOCUMENTS for i in range(len(programs(name)))])
def test_every_program_runs_and_prints_what_it_says(document, number, capsys):
    program = programs(document)[number]
    for package in re.findall(r"^(?:from|import) (\w+)", program, re.MULTILINE):
        pytest.importorskip(package)
    said = re.findall(r"^# ([0-9a-f]{64})$", program, re.MULTILINE)
    assert run(program, capsys)[1] == said


def test_the_table_of_numpys_methods_is_whole_and_true():
    text = (ROOT / "docs/start/python.md").read_text()
    table = text[text.index("| NumPy's `Generator` |") :].partition("\n\n")[0].splitlines()[2:]
    said = {}
    for line in table:
        names, here = line.strip("|").split("|")[:2]
        said |= dict.fromkeys(re.findall(r"`(\w+)`", names), here.strip())
    assert said.keys() == {name for name in dir(np.random.Generator) if not name.startswith("_")}
    for name, here in said.items():
        assert hasattr(Elements, name) == (here == "yes"), name
        if here != "yes":
            with pytest.raises(AttributeError, match=f"{name}'; take "):
                getattr(Elements(5), name)
        else:
            # Our methods have NumPy's parameters, in its order.
            theirs = inspect.signature(getattr(np.random.Generator, name)).parameters if name != "bytes" else {}
            ours = list(inspect.signature(getattr(Elements, name)).parameters)
            wanted = [word for word in theirs if word in ours]
            assert [word for word in ours if word in theirs] == wanted, name
            assert set(theirs) - set(ours) <= {"dtype", "method", "check_valid", "tol"}, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'$"):
        _ = Elements(5).nothing


def test_every_generator_says_its_algorithm_seed_and_path():
    from wellspring import random

    kinds = [getattr(random, name) for name in random.__all__ if hasattr(getattr(random, name), "algorithm")]
    made = [kind(2026, path="3/17") for kind in kinds if kind not in (random.StreamBitGenerator, Elements)]
    assert len(made) == 8
    sequence = np.random.SeedSequence(2026, spawn_key=(3, 17))
    for one in [*made, Elements(2026, "3/17"), Elements(sequence), pickle.loads(pickle.dumps(Elements(sequence)))]:
        assert one.algorithm in repr(one) and "2026" in repr(one) and "(3, 17)" in repr(one)
    assert eval(repr(Elements(2026, "3/17"))) == Elements(2026, "3/17")


def test_children_are_new_arrays_at_each_next():
    names = Elements(5, 1).children()
    assert [next(names).path for _ in range(3)] == [(1, 0), (1, 1), (1, 2)]
    assert next(Elements(5, 1).children(7)) == Elements(5, "1/7")
    assert len({next(names).random() for _ in range(100)}) == 100


def test_the_check_says_ok_or_differs(capsys, monkeypatch):
    from wellspring.random import __main__ as check

    result = subprocess.run([sys.executable, "-m", "wellspring.random", "--check"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, f"ok {check.EXPECTED}\n")
    assert f"# {check.EXPECTED}\n" in (ROOT / "docs/how-to/science.md").read_text()
    monkeypatch.setattr(check, "EXPECTED", "0" * 64)
    assert check.checked().startswith("differs ")


@pytest.mark.parametrize("package", ["pandas", "pyarrow", "polars"])
def test_the_columns_of_the_document_are_those_of_the_ids(package, capsys):
    pytest.importorskip(package)
    (program,) = (program for program in programs("docs/how-to/science.md") if f"import {package} " in program)
    names, _ = run(program, capsys)
    expected = names["name"].standard_normal(1000)
    np.testing.assert_array_equal(names["table"]["noise"], expected)
    if package == "pandas":
        np.testing.assert_array_equal(names["part"]["noise"], expected[400:500])


def test_the_blocks_are_the_slices_that_the_document_names(capsys):
    (program,) = (program for program in programs("docs/start/python.md") if "at=(20, 40)" in program)
    # Without the last line, which fills the array anew.
    names, _ = run(program[: program.index("name.random")], capsys)
    np.testing.assert_array_equal(names["b"], names["a"][500:510])
    np.testing.assert_array_equal(names["c"], names["a"][20:30, 40:45])


def test_the_function_of_the_document_gives_its_replica_again(capsys):
    (program,) = (program for program in programs("docs/how-to/science.md") if "def replica" in program)
    names, _ = run(program, capsys)
    assert names["replica"](3, 17) == names["replica"](3, 17) != names["replica"](3, 18)


def test_every_module_is_there_after_one_import_and_is_loaded_by_its_first_use():
    program = """
import sys, wellspring
assert {"random", "dask", "secrets", "clone_guard"} <= set(dir(wellspring))
assert "wellspring.random" not in sys.modules and "numpy" not in sys.modules
wellspring.random.Elements(1).bytes(4)
assert "numpy" not in sys.modules
assert not hasattr(wellspring, "nothing")
from wellspring import *
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_completion_shows_what_is_public_and_each_name_is_there():
    for module in (wellspring, wellspring.random):
        assert set(module.__all__) <= set(dir(module))
        for name in dir(module):
            assert getattr(module, name).__doc__ or name == "__version__"


@pytest.mark.parametrize("path", [3, np.int64(3), (3,), [3], "3", np.array([3])])
def test_a_path_of_one_number_needs_no_brackets(path):
    assert Elements(2026, path).path == (3,)
    assert default_rng(2026, path=path).random() == default_rng(2026, path="3").random()


@pytest.mark.parametrize("written", ["ChaCha8", "CHACHA8", "chacha8"])
def test_an_algorithm_may_be_written_in_any_case(written):
    assert Elements(1, algorithm=written).algorithm == "chacha8"
    assert Elements(1, algorithm=written).bytes(8) == Elements(1).bytes(8)


def public_things():
    """What the modules offer, by its name, with the names that its examples may use."""
    from wellspring import dask, ids, random, secrets

    for module in (wellspring, secrets, ids, random):
        for name in module.__all__:
            thing = getattr(module, name)
            # The standard library's function has documentation of its own.
            if callable(thing) and name != "compare_digest":
                yield f"{module.__name__}.{name}", thing, vars(sys.modules[module.__name__])
    assert dask.Elements.gamma.__doc__


@pytest.mark.parametrize("name", [name for name, _, _ in public_things()])
def test_every_public_name_has_examples_and_they_run(name):
    thing, names = next((thing, names) for other, thing, names in public_things() if other == name)
    names = {**names, **vars(_bit_generators), **vars(_elements), thing.__name__: thing}
    finder = doctest.DocTestFinder(recurse=True)
    # The methods of a base class are not found in the class.
    bases = [_distributions.Distributions] if thing is Elements else []
    found = [test for kind in (thing, *bases) for test in finder.find(kind, name, globs=names) if test.examples]
    runner = doctest.DocTestRunner(verbose=False)
    for test in found:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
    inherited = isinstance(thing, type) and issubclass(thing, _bit_generators.StreamBitGenerator)
    assert found or inherited, name
    if thing is Elements:
        described = {test.name.rpartition(".")[2] for test in found}
        methods = {method for kind in (thing, *bases) for method in vars(kind) if not method.startswith("_")}
        assert methods - described == {"algorithm", "seed", "path"}


PROGRAM = """
import numpy as np
import wellspring
from numpy.typing import NDArray
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
# The types of arrays.
e = random.Elements(5)
single: float = e.normal(0, 1)
whole: NDArray[np.float64] = e.normal(0, 1, 5)
by_parameters: NDArray[np.float64] = e.normal([0, 1], 1)
narrow: NDArray[np.float32] = e.random((5, 3), dtype="float32")
counts: NDArray[np.int64] = e.poisson(whole)
count: int = e.poisson(5)
small: NDArray[np.uint8] = e.integers(0, 5, 3, np.uint8)
filled: NDArray[np.float64] = e.gamma(whole, out=whole)
rows: NDArray[np.float64] = e.dirichlet([1, 2], 5)
chosen: NDArray[np.int64] = e.choice(5, 3)
order: NDArray[np.int64] = e.permutation(5)
not_narrow: NDArray[np.float32] = e.random(5)
no_array: NDArray[np.int64] = e.integers(7)
no_counts: NDArray[np.int64] = e.gamma(1, 1, 7)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """The types of NumPy take mypy most of its time: they are read once."""
    return tmp_path_factory.mktemp("mypy")


def mypy(*arguments):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert not result.stderr, result.stderr
    return result.stdout.splitlines()


def test_the_package_has_its_types(tmp_path, monkeypatch, cache):
    folder = Path(wellspring.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_native.pyi").exists()
    # In an empty folder: mypy takes packages below the current one for the program's own.
    monkeypatch.chdir(tmp_path)
    assert mypy(f"--cache-dir={cache}", "-p", "wellspring") == []


def test_a_program_is_checked(tmp_path, cache):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    wrong = [line.split(":")[1] for line in mypy(f"--cache-dir={cache}", path) if ": error:" in line]
    names = ("wrong:", "also_wrong:", 'random.Elements(5, threads="2")', "not_narrow:", "no_array:", "no_counts:")
    lines = PROGRAM.splitlines()
    assert wrong == [str(i) for i, line in enumerate(lines, 1) if line.startswith(names)]


def test_the_stub_of_the_distributions_is_made_of_the_table(tmp_path):
    path = Path(__file__).parents[1] / "stubs.py"
    stubs = {"__file__": str(path), "__name__": "stubs"}
    exec(compile(path.read_text(), str(path), "exec"), stubs)  # noqa: S102
    assert (Path(wellspring.__file__).parent / "random/_distributions.pyi").read_text() == stubs["made"]()


def test_the_stubs_are_what_is_there(tmp_path, monkeypatch, cache):
    pytest.importorskip("mypy")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = True\ncache_dir = {cache}\n")
    known = [
        # mypy lists the classes inside of functions.
        r"wellspring\.clone_guard\.(__all__|.*@\d+)",
        # A static method is a variable there, and a cached function has any arguments.
        r"wellspring\.secrets\.SystemRandom\.(random|getrandbits|_randbelow)",
        r"wellspring\.(jax|torch)\._.*",
        r"wellspring\.random\._devices\.(native|tables)",
    ]
    missing = [name for name in ("dask", "jax", "torch", "opentelemetry") if importlib.util.find_spec(name) is None]
    (tmp_path / "known").write_text("\n".join([*known, *(rf"wellspring\.{name}.*" for name in missing)]))
    given = "--mypy-config-file mypy.ini --ignore-unused-allowlist --allowlist known wellspring"
    command = [sys.executable, "-m", "mypy.stubtest", "--concise", *given.split()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


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
