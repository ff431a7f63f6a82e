"""Distributions of the numbers: chi-square and Kolmogorov-Smirnov, edges and tails.

10^6 numbers a test; `--draws 100000000` for 10^8. They are made in pieces of 10^6, so that memory does not grow.
Every array has a fixed name, so that a test that passed once passes always: what is tested is the code.
"""

import math

import numpy as np
import pytest

from wellspring import random as wr
from wellspring.random import Elements

PIECE = 10**6
ALGORITHMS = ["chacha8", "aes256-ctr", "philox4x64-10"]
dtypes = pytest.mark.parametrize("dtype", ["float64", "float32"])
algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS)

# The first normal numbers of the arrays of seed 2026 that lie beyond 6 standard deviations: index and value.
TAILS = [(181284480, -6.050834613865618), (361553035, 6.294241728585537), (434900682, 6.320100018479019)]

# Quantiles by which numbers are sorted into cells with the same probability.
CELLS = 1000


@pytest.fixture
def draws(request):
    return request.config.getoption("--draws")


def pieces(draws, make):
    """Arrays of numbers, the elements 0 to draws - 1."""
    for first in range(0, draws, PIECE):
        yield make(min(PIECE, draws - first), first)


def assert_chi_square(counts, expected):
    """Six standard deviations: 10^-9 for a right one, a bias of 1/1000 in a cell shows from 10^8 numbers on."""
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    freedom = len(counts) - 1
    assert abs(chi_square - freedom) < 6 * math.sqrt(2 * freedom), chi_square


def assert_follows(draws, make, distribution):
    """Chi-square over CELLS cells, and the largest distance from the distribution function."""
    counts, largest, seen = np.zeros(CELLS), 0.0, 0
    for numbers in pieces(draws, make):
        # From here on the numbers should be uniform.
        uniform = np.sort(distribution(numbers.astype(np.float64)))
        counts += np.bincount(np.minimum((uniform * CELLS).astype(int), CELLS - 1), minlength=CELLS)
        steps = np.arange(len(uniform))
        distance = max(
            float(np.max(uniform - steps / len(uniform))), float(np.max((steps + 1) / len(uniform) - uniform))
        )
        largest = max(largest, distance * math.sqrt(len(uniform)))
        seen += len(uniform)
    assert seen == draws
    assert_chi_square(counts, draws / CELLS)
    # Kolmogorov: P(D sqrt(n) > 3.5) is 2 exp(-2 * 3.5^2) = 5e-11 for each piece.
    assert largest < 3.5
    # And over all pieces together.
    together = np.max(np.abs(np.cumsum(counts) / draws - np.arange(1, CELLS + 1) / CELLS)) * math.sqrt(draws)
    assert together < 3.5


def normal_distribution(x):
    special = pytest.importorskip("scipy.special")
    return special.ndtr(x)


@algorithms
@dtypes
def test_uniform(draws, algorithm, dtype):
    elements = Elements(1, "0", algorithm)
    assert_follows(draws, lambda n, first: elements.random(n, dtype, first=first), lambda x: x)


@algorithms
@dtypes
def test_normal(draws, algorithm, dtype):
    elements = Elements(1, "1", algorithm)
    assert_follows(draws, lambda n, first: elements.standard_normal(n, dtype, first=first), normal_distribution)


@algorithms
@dtypes
def test_exponential(draws, algorithm, dtype):
    elements = Elements(1, "2", algorithm)
    assert_follows(draws, lambda n, first: elements.exponential(2, n, dtype, first=first), lambda x: -np.expm1(-x / 2))


@algorithms
@pytest.mark.parametrize(("count", "dtype"), [(6, "int8"), (1000, "int32"), (1000, "int64"), (251, "uint16")])
def test_integers(draws, algorithm, count, dtype):
    elements, counts = Elements(1, "3", algorithm), np.zeros(count)
    # Not from zero: a range that begins below it where there is a sign.
    low = 0 if dtype.startswith("u") else -3
    for numbers in pieces(draws, lambda n, first: elements.integers(low, low + count, n, dtype, first=first)):
        counts += np.bincount(numbers.astype(int) - low, minlength=count)
    assert_chi_square(counts, draws / count)


def test_integers_of_ranges_where_words_are_rejected(draws):
    """A quarter of all words is rejected. Without that, a third of the range would come twice as often."""
    elements = Elements(1, "4")
    for dtype, bits in (("uint32", 32), ("uint64", 64)):
        thirds = np.zeros(3)
        for numbers in pieces(draws, lambda n, first: elements.integers(0, 3 << (bits - 2), n, dtype, first=first)):
            thirds += np.bincount((numbers >> np.asarray(bits - 2, dtype)).astype(int), minlength=3)
        assert_chi_square(thirds, draws / 3)


def test_permutations_put_every_number_everywhere(draws):
    """Where the number at place 7 of 100 lands, over many paths."""
    rounds = min(draws // 20, 50_000)
    counts = np.zeros(100)
    for path in range(rounds):
        counts[Elements(1, (5, path), "philox4x64-10").permutation(100, 1, first=7)[0]] += 1
    assert_chi_square(counts, rounds / 100)


@algorithms
def test_zero_can_come_and_one_cannot(algorithm):
    """Float32 has 2^24 values: among 2^28 numbers zero comes 16 times, and so does the last one below 1."""
    elements, zeros, last = Elements(1, "6", algorithm), 0, 0
    for first in range(0, 1 << 28, 1 << 24):
        numbers = elements.random(1 << 24, "float32", first=first)
        assert numbers.max() < 1 and numbers.min() >= 0
        zeros += int((numbers == 0).sum())
        last += int((numbers == np.float32(1 - 2**-24)).sum())
        if zeros and last:
            return
    raise AssertionError((zeros, last))


def test_numbers_use_all_their_bits():
    numbers = Elements(1, "7").random(10_000)
    assert set((numbers * 2.0**53).astype(np.uint64) & 1) == {0, 1}
    single = Elements(1, "7").random(10_000, "float32")
    assert set((single * np.float32(2**24)).astype(np.uint32) & 1) == {0, 1}


def test_normal_numbers_beyond_six_standard_deviations_come():
    """One in 5 * 10^8 lies there: these places were searched for, since 10^6 numbers have none."""
    for index, value in TAILS:
        assert Elements(2026).standard_normal(first=index) == value
        assert abs(value) > 6
        assert Elements(2026).standard_normal(dtype="float32", first=index) == np.float32(value)


@pytest.mark.heavy
def test_the_share_of_normal_numbers_in_the_tail():
    """Among 2 * 10^9 numbers 3.9 lie beyond 6 standard deviations, and 5.4 million beyond 3."""
    beyond = dict.fromkeys((3.0, 4.0, 5.0, 6.0), 0)
    total = 2 * 10**9
    out = np.empty(10**7)
    for first in range(0, total, len(out)):
        size = np.abs(Elements(2026).standard_normal(out=out, first=first))
        for limit in beyond:
            beyond[limit] += int((size > limit).sum())
    for limit, count in beyond.items():
        expected = total * math.erfc(limit / math.sqrt(2))
        assert abs(count - expected) < 6 * math.sqrt(expected) + 1, (limit, count, expected)


@pytest.mark.parametrize(
    "kind", ["ChaCha8", "Aes256Ctr", "Philox4x64", "Xoshiro256PlusPlus", "Xoshiro256PlusPlusX16", "Xorshift128Plus"]
)
def test_generators_of_numpy_over_every_kind(draws, kind):
    rng = np.random.Generator(getattr(wr, kind)(1))
    assert_follows(min(draws, 10**7), lambda n, _: rng.standard_normal(n), normal_distribution)
    assert_follows(min(draws, 10**7), lambda n, _: rng.random(n, np.float32), lambda x: x)


def test_paths_beside_each_other():
    """The first numbers of 10^5 consecutive paths are uniform, and so is each step from one to the next."""
    numbers = np.array([Elements(1, (path,)).random() for path in range(100_000)])
    for uniform in (numbers, np.diff(numbers) % 1):
        counts = np.bincount((uniform * 100).astype(int), minlength=100)
        assert_chi_square(counts, len(uniform) / 100)
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 6 / math.sqrt(len(numbers))


# The distributions that SciPy has, with parameters on both sides of every threshold: method, arguments, SciPy's.
OF_SCIPY = [
    ("laplace", (1, 2), ("laplace", 1, 2)),
    ("logistic", (1, 2), ("logistic", 1, 2)),
    ("gumbel", (1, 2), ("gumbel_r", 1, 2)),
    ("rayleigh", (2,), ("rayleigh", 0, 2)),
    ("pareto", (3,), ("lomax", 3)),
    ("power", (3,), ("powerlaw", 3)),
    ("power", (0.2,), ("powerlaw", 0.2)),
    ("triangular", (-1, 0.5, 3), ("triang", 0.375, -1, 4)),
    ("vonmises", (0, 0), ("vonmises", 1e-12)),
    ("vonmises", (0, 0.3), ("vonmises", 0.3)),
    ("vonmises", (0, 40), ("vonmises", 40)),
    ("wald", (3, 2), ("invgauss", 1.5, 0, 2)),
    ("wald", (0.1, 50), ("invgauss", 0.002, 0, 50)),
    ("standard_gamma", (0.4,), ("gamma", 0.4)),
    ("standard_exponential", (), ("expon",)),
    ("f", (3, 5), ("f", 3, 5)),
    ("f", (0.5, 0.7), ("f", 0.5, 0.7)),
    ("noncentral_chisquare", (3, 20), ("ncx2", 3, 20)),
    ("noncentral_chisquare", (0.7, 3), ("ncx2", 0.7, 3)),
    ("noncentral_chisquare", (0.7, 30), ("ncx2", 0.7, 30)),
    ("noncentral_f", (3, 20, 3), ("ncf", 3, 20, 3)),
    ("negative_binomial", (2.5, 0.3), ("nbinom", 2.5, 0.3)),
    ("negative_binomial", (90, 0.3), ("nbinom", 90, 0.3)),
    ("hypergeometric", (30, 50, 7), ("hypergeom", 80, 30, 7)),
    ("hypergeometric", (50, 30, 70), ("hypergeom", 80, 50, 70)),
    ("hypergeometric", (300, 500, 70), ("hypergeom", 800, 300, 70)),
    ("hypergeometric", (500, 300, 700), ("hypergeom", 800, 500, 700)),
    ("hypergeometric", (100_000, 10**9, 80_000), ("hypergeom", 10**9 + 100_000, 100_000, 80_000)),
    ("logseries", (0.3,), ("logser", 0.3)),
    ("logseries", (0.99,), ("logser", 0.99)),
    ("zipf", (1.6,), ("zipf", 1.6)),
    ("zipf", (4.0,), ("zipf", 4.0)),
]


@pytest.mark.parametrize(("method", "arguments", "theirs"), OF_SCIPY)
def test_numbers_follow_the_distributions_of_scipy(method, arguments, theirs, draws):
    stats = pytest.importorskip("scipy.stats")
    distribution = getattr(stats, theirs[0])(*theirs[1:])
    draws = min(draws, 200_000)
    numbers = getattr(Elements(2026, "8"), method)(*arguments, size=draws)
    if numbers.dtype == np.float64:
        assert stats.kstest(numbers, distribution.cdf).pvalue > 1e-4
        return
    # Cells of single counts, as long as 50 numbers are expected in each, and the rest.
    values = np.unique(np.quantile(numbers, np.linspace(0, 1, 60)).astype(int))
    if method == "zipf":
        # SciPy sums all probabilities, which takes minutes.
        zeta = pytest.importorskip("scipy.special").zeta
        below = 1 - zeta(arguments[0], values + 1.0) / zeta(arguments[0])
    else:
        below = distribution.cdf(values)
    expected = np.diff(np.concatenate([[0], below, [1]])) * draws
    counts = np.bincount(np.searchsorted(values, numbers), minlength=len(values) + 1)
    large = expected > 50
    counts = np.append(counts[large], counts[~large].sum())
    expected = np.append(expected[large], expected[~large].sum())
    counts, expected = (x[expected > 0] for x in (counts, expected))
    assert counts.sum() == draws
    chi_square = ((counts - expected) ** 2 / np.maximum(expected, 1)).sum()
    assert stats.chi2(len(counts) - 1).sf(chi_square) > 1e-4, (counts, expected)


def test_angles_are_around_their_mean_and_within_a_turn():
    angles = Elements(5).vonmises(3.0, 2.0, 100_000)
    assert np.abs(angles).max() <= math.pi and (angles < 0).any()
    assert abs(np.angle(np.exp(1j * angles).mean()) - 3.0) < 0.01
    np.testing.assert_allclose(Elements(5).vonmises(3.0 + 20 * math.pi, 2.0, 1000), angles[:1000], atol=1e-12)


def test_colours_of_balls_have_the_moments_of_their_distribution():
    colors, sample, draws = np.array([16, 8, 4, 0]), 12, 100_000
    rows = Elements(5).multivariate_hypergeometric(colors, sample, draws)
    assert (rows.sum(1) == sample).all() and (rows <= colors).all() and (rows >= 0).all()
    total = colors.sum()
    share = colors / total
    covariance = sample * (total - sample) / (total - 1) * (np.diag(share) - np.outer(share, share))
    assert np.abs(rows.mean(0) - sample * share).max() < 0.02
    assert np.abs(np.cov(rows.T) - covariance).max() < 0.05
