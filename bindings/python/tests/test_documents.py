"""The programs in the documents run, and print what the documents say."""

import re
from pathlib import Path

import numpy as np
import pytest

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
