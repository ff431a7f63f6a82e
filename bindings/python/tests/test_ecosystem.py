"""Packages that take NumPy's generators. One that is not installed is a test that is SKIPPED."""

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
