"""Arrays of Dask that depend on nothing but their name."""

import inspect
import os
import signal
import time

import numpy as np
import pytest

from wellspring import random as wr

from conftest import COLUMNS as EIGHT
from conftest import check_columns

da = pytest.importorskip("dask.array")

from wellspring.dask import Elements  # noqa: E402

SHAPE = (120, 75)
KINDS = {
    "random": lambda e, **k: e.random(SHAPE, **k),
    "random float32": lambda e, **k: e.random(SHAPE, dtype="float32", **k),
    "uniform": lambda e, **k: e.uniform(-3, 5, SHAPE, **k),
    "standard_normal": lambda e, **k: e.standard_normal(SHAPE, **k),
    "normal": lambda e, **k: e.normal(3, 2, SHAPE, **k),
    "exponential": lambda e, **k: e.exponential(2, SHAPE, **k),
    "integers": lambda e, **k: e.integers(-5, 5, SHAPE, **k),
    "integers of 8 bits": lambda e, **k: e.integers(7, None, SHAPE, endpoint=True, dtype="uint8", **k),
}
PARAMETERS = {
    "lognormal": {"sigma": 0.5},
    "weibull": {"a": 2.0},
    "standard_cauchy": {},
    "gamma": {"shape": 2.5, "scale": 3.0},
    "chisquare": {"df": 3},
    "beta": {"a": 2.0, "b": 3.0},
    "standard_t": {"df": 4},
    "truncated_normal": {"low": -1.0, "high": 2.0},
    "geometric": {"p": 0.25},
    "binomial": {"n": 20, "p": 0.3},
    "poisson": {"lam": 4.5},
    "laplace": {"scale": 2.0},
    "f": {"dfnum": 3, "dfden": 5},
    "hypergeometric": {"ngood": 30, "nbad": 20, "nsample": 10},
}
# Parameters that are arrays, for the shape (120, 75).
COLUMNS = {
    "normal": {"loc": np.arange(75.0), "scale": np.linspace(1, 2, 120)[:, None]},
    "uniform": {"low": 0, "high": np.linspace(1, 2, 120 * 75).reshape(120, 75)},
    "poisson": {"lam": np.linspace(0, 30, 75)},
    "integers": {"low": 5, "high": np.arange(6, 81)},
}
kinds = pytest.mark.parametrize("kind", KINDS)


def plain(kind):
    elements = Elements(5, "1/2").elements
    return {
        "random": lambda: elements.random(SHAPE),
        "random float32": lambda: elements.random(SHAPE, "float32"),
        "uniform": lambda: elements.uniform(-3, 5, SHAPE),
        "standard_normal": lambda: elements.standard_normal(SHAPE),
        "normal": lambda: elements.normal(3, 2, SHAPE),
        "exponential": lambda: elements.exponential(2, SHAPE),
        "integers": lambda: elements.integers(-5, 5, SHAPE),
        "integers of 8 bits": lambda: elements.integers(7, None, SHAPE, "uint8", endpoint=True),
    }[kind]()


@kinds
def test_the_chunks_do_not_matter(kind):
    expected = plain(kind)
    for chunks in ("auto", -1, (120, 75), (7, 75), (120, 11), (13, 17), ((100, 20), (1, 74)), 50):
        array = KINDS[kind](Elements(5, "1/2"), chunks=chunks)
        assert array.dtype == expected.dtype and array.shape == SHAPE
        np.testing.assert_array_equal(array.compute(scheduler="threads"), expected)
    array = KINDS[kind](Elements(5, "1/2"), chunks=(13, 17))
    np.testing.assert_array_equal(array.rechunk((50, 50)).compute(), expected)
    np.testing.assert_array_equal(array[7:100:3, ::-2].compute(), expected[7:100:3, ::-2])


@pytest.mark.parametrize("method", PARAMETERS)
def test_the_chunks_of_a_distribution_do_not_matter(method):
    expected = getattr(Elements(5, "1/2").elements, method)(**PARAMETERS[method], size=SHAPE)
    for chunks in (-1, (13, 17)):
        array = getattr(Elements(5, "1/2"), method)(**PARAMETERS[method], size=SHAPE, chunks=chunks)
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array.compute(scheduler="threads"), expected)


@pytest.mark.parametrize("method", COLUMNS)
@pytest.mark.parametrize("with_size", [True, False])
def test_parameters_that_are_arrays_are_cut_with_the_chunks(method, with_size):
    size = {"size": SHAPE} if with_size or method in ("poisson", "integers") else {}
    expected = getattr(Elements(5, "1/2").elements, method)(**COLUMNS[method], **size)
    assert expected.shape == SHAPE
    lazy = {name: da.from_array(value, chunks=11) if np.ndim(value) else value for name, value in COLUMNS[method].items()}
    for parameters in (COLUMNS[method], lazy):
        for chunks in (-1, (13, 17)):
            array = getattr(Elements(5, "1/2"), method)(**parameters, **size, chunks=chunks)
            assert array.dtype == expected.dtype
            np.testing.assert_array_equal(array.compute(scheduler="threads"), expected)


@pytest.mark.parametrize("method", EIGHT)
def test_the_number_at_a_place_has_the_parameters_there(method):
    check_columns(Elements(2026, "3/0/17"), method, np.asarray, chunks=2)
    check_columns(Elements(2026, "3/0/17"), method, da.asarray, chunks=2)


def test_every_method_of_one_number_an_element_is_there():
    blocks = [name for name in dir(wr.Elements) if takes_blocks(getattr(wr.Elements, name))]
    assert len(blocks) == 35 and [name for name in blocks if not hasattr(Elements, name)] == []


def takes_blocks(method):
    return inspect.isfunction(method) and not method.__name__.startswith("_") and "at" in inspect.signature(method).parameters


def test_a_permutation_is_cut_into_chunks():
    expected = Elements(5).elements.permutation(1000)
    for chunks in (1000, 1, 77):
        np.testing.assert_array_equal(Elements(5).permutation(1000, chunks=chunks).compute(), expected)


def test_equal_arrays_have_equal_names_and_others_do_not():
    def name(seed=5, path="1/2", size=SHAPE, **keywords):
        return Elements(seed, path).random(size, **keywords).name

    assert name() == name()
    others = [name(seed=6), name(path="1"), name(size=(120, 76)), name(dtype="float32"), name(chunks=10), name()]
    assert len(set(others)) == len(others)
    normal = [Elements(5).normal(0, scale, 10).name for scale in (1, 2)]
    assert normal[0] != normal[1] != Elements(5).uniform(0, 2, 10).name


def test_wrong_arguments_are_refused_before_anything_is_computed():
    elements = Elements(5)
    for error, call in [
        (ValueError, lambda: elements.integers(5, 5, 10)),
        (ValueError, lambda: elements.random(-1)),
        (ValueError, lambda: elements.random(())),
        (ValueError, lambda: elements.normal(0, -1, 10)),
        (TypeError, lambda: elements.random(10, dtype="int64")),
        (TypeError, lambda: elements.random(1.5)),
        (TypeError, lambda: elements.random()),
        (TypeError, lambda: elements.random(10, first=5)),
        (ValueError, lambda: elements.gamma(-1.0, size=10)),
        (ValueError, lambda: elements.binomial(5, 1.5, 10)),
    ]:
        with pytest.raises(error):
            call()


def test_an_array_without_elements():
    assert Elements(5).random((0, 3), chunks=2).compute().shape == (0, 3)


def test_the_random_module_of_dask_takes_our_bit_generators():
    for kind in (wr.ChaCha8, wr.Philox4x64, wr.Xoshiro256PlusPlus):
        arrays = [da.random.default_rng(kind(5)).normal(size=1000, chunks=100) for _ in range(2)]
        first, second = arrays[0].compute(scheduler="threads"), arrays[1].compute(scheduler="synchronous")
        np.testing.assert_array_equal(first, second)
        assert len(set(first)) == 1000


class HeldBack:
    """Passes a chunk on, but not before the file `go` is there. Says first which process has it."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, chunk):
        mark = os.path.join(self.folder, f"started-{os.getpid()}")
        with open(mark, "w"):
            pass
        wait_for(lambda: os.path.exists(os.path.join(self.folder, "go")))
        return chunk


def wait_for(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "waited for 120 s"
        time.sleep(0.01)


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    array = Elements(5, "1/2").standard_normal((1000, 64), chunks=(50, 64))
    slow = array.map_blocks(HeldBack(tmp_path), dtype=array.dtype, meta=np.empty((0, 0)))
    cluster = distributed.LocalCluster(
        n_workers=3, threads_per_worker=2, processes=True, dashboard_address=None, local_directory=str(tmp_path)
    )
    with cluster, distributed.Client(cluster) as client:
        workers = set(client.run(os.getpid).values())
        future = client.compute(slow)
        wait_for(lambda: list(tmp_path.glob("started-*")))
        # No chunk can be ready yet, since nothing said go: this worker dies in the middle of its first ones.
        victim = int(next(tmp_path.glob("started-*")).name.split("-")[1])
        assert victim in workers and not future.done()
        os.kill(victim, signal.SIGKILL)
        (tmp_path / "go").touch()
        result = future.result(timeout=120)
    np.testing.assert_array_equal(result, Elements(5, "1/2").elements.standard_normal((1000, 64)))
