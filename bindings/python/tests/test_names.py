"""What a user types first: names that complete, paths and algorithms as they come to mind, examples that run."""

import doctest
import subprocess
import sys

import numpy as np
import pytest

import wellspring
from wellspring.random import Elements, _bit_generators, _elements, default_rng


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


@pytest.mark.parametrize("module", [_bit_generators, _elements])
def test_the_examples_of_the_documentation_run(module):
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0
