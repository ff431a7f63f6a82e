"""Distributions with parameters: their table, known answers, NumPy's errors, choices, and points beside SciPy's."""

import hashlib
import inspect
import math

import numpy as np
import pytest
from conftest import lines

from wellspring import _native
from wellspring.random import Elements

TABLE = _native.distributions()

# What makes n elements of a line of known answers from index `first` on.
MADE = {
    "lognormal": lambda e, p, **k: e.lognormal(*p, **k),
    "weibull": lambda e, p, **k: e.weibull(*p, **k),
    "cauchy": lambda e, p, **k: e.standard_cauchy(**k),
    "gamma": lambda e, p, **k: e.gamma(*p, **k),
    "beta": lambda e, p, **k: e.beta(*p, **k),
    "t": lambda e, p, **k: e.standard_t(*p, **k),
    "truncated": lambda e, p, **k: e.truncated_normal(p[2], p[3], p[0], p[1], **k),
    "geometric": lambda e, p, **k: e.geometric(*p, **k),
    "binomial": lambda e, p, **k: e.binomial(int(p[0]), p[1], **k),
    "poisson": lambda e, p, **k: e.poisson(*p, **k),
    "choice": lambda e, p, **k: e.choice(len(p), p=np.array(p) / sum(p), **k),
    "subsets": lambda e, p, **k: e.subsets(int(p[0]), int(p[1]), **k),
    "dirichlet": lambda e, p, **k: e.dirichlet(p, **k),
    "multinomial": lambda e, p, **k: e.multinomial(int(p[0]), p[1:], **k),
    "multivariate": lambda e, p, **k: e.multivariate_normal(p[:3], np.reshape(p[3:], (3, 3)), **k),
    "sphere": lambda e, p, **k: e.sphere(int(p[0]), **k),
    "sobol": lambda e, p, **k: e.sobol(int(p[0]), **k),
    "halton": lambda e, p, **k: e.halton(int(p[0]), **k),
    "hypergeometric": lambda e, p, **k: e.hypergeometric(*map(int, p), **k),
    "multivariate_hypergeometric": lambda e, p, **k: e.multivariate_hypergeometric(
        [int(balls) for balls in p[1:]], int(p[0]), **k
    ),
}
SAME_NAME = (
    "laplace gumbel logistic rayleigh pareto power triangular vonmises wald f noncentral_chisquare noncentral_f"
    " negative_binomial logseries zipf"
)
MADE |= {name: lambda e, p, name=name, **k: getattr(e, name)(*p, **k) for name in SAME_NAME.split()}

ROWS = {
    "subsets": lambda e, size, **k: e.subsets(100, 7, size, **k),
    "dirichlet": lambda e, size, **k: e.dirichlet([0.5, 2, 3], size, **k),
    "multinomial": lambda e, size, **k: e.multinomial(99, [0.2, 0.3, 0.5], size, **k),
    "multivariate_normal": lambda e, size, **k: e.multivariate_normal([1, 2], [[2, 1], [1, 3]], size, **k),
    "sphere": lambda e, size, **k: e.sphere(5, size, **k),
    "sobol": lambda e, size, **k: e.sobol(5, size, **k),
    "halton": lambda e, size, **k: e.halton(5, size, **k),
}


def test_every_distribution_has_its_known_elements():
    kinds = set()
    for kind, fields in lines("pseudo-distributions.txt"):
        elements = Elements(int(fields["seed"], 16), fields["path"], fields["algorithm"])
        parameters = [float(text) for text in fields["parameters"].split(",") if text]
        if kind == "multinomial" or kind == "binomial" and parameters[0] > 2**53:
            parameters[0] = int(fields["parameters"].split(",")[0])
        array = MADE[kind](elements, parameters, size=int(fields["n"]), first=int(fields["first"]))
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        assert hashlib.sha256(data).hexdigest() == fields["sha256"], fields
        kinds.add(kind)
    assert kinds == set(MADE)


@pytest.mark.parametrize("kind", ROWS)
def test_rows_do_not_depend_on_threads_cuts_and_shapes(kind):
    whole = ROWS[kind](Elements(5, threads=1), 60_000)
    for threads in (2, 7):
        assert (ROWS[kind](Elements(5, threads=threads), 60_000) == whole).all()
    parts = [ROWS[kind](Elements(5), 999, first=first) for first in range(0, 59_940, 999)]
    assert (np.concatenate(parts) == whole[:59_940]).all()
    assert (ROWS[kind](Elements(5), (10, 6, 2)).reshape(120, -1) == whole[:120]).all()
    assert (ROWS[kind](Elements(5), None, first=7) == whole[7]).all()
    out = np.empty(whole[:50].shape, whole.dtype, order="F")
    assert ROWS[kind](Elements(5), None, out=out) is out and (out == whole[:50]).all()
    assert ROWS[kind](Elements(5), 0).shape == (0, whole.shape[1])
    with pytest.raises(ValueError, match="rows of"):
        ROWS[kind](Elements(5), None, out=np.empty((50, 11), whole.dtype))
    with pytest.raises(ValueError, match="first"):
        ROWS[kind](Elements(5), 2, first=2**64 - 1)


# Calls that NumPy refuses, and we with the same kind of error.
REFUSED = [
    ("gamma", (-1,)),
    ("gamma", (1, -1)),
    ("beta", (0, 1)),
    ("beta", (1, -1)),
    ("chisquare", (0,)),
    ("standard_t", (0,)),
    ("lognormal", (0, -1)),
    ("weibull", (-1,)),
    ("binomial", (-1, 0.5)),
    ("binomial", (5, 1.5)),
    ("binomial", (5, float("nan"))),
    ("poisson", (-1,)),
    ("poisson", (1e19,)),
    ("geometric", (0,)),
    ("geometric", (1.5,)),
    ("laplace", (0, -1)),
    ("gumbel", (0, -1)),
    ("logistic", (0, -1)),
    ("rayleigh", (-1,)),
    ("pareto", (0,)),
    ("power", (0,)),
    ("triangular", (2, 1, 3)),
    ("triangular", (1, 4, 3)),
    ("triangular", (1, 1, 1)),
    ("vonmises", (0, -1)),
    ("wald", (0, 1)),
    ("wald", (1, 0)),
    ("f", (0, 1)),
    ("noncentral_f", (1, 1, -1)),
    ("noncentral_chisquare", (0, 1)),
    ("negative_binomial", (0, 0.5)),
    ("negative_binomial", (1, 0)),
    ("negative_binomial", (1e18, 1e-3)),
    ("hypergeometric", (-1, 2, 1)),
    ("hypergeometric", (1, 2, 4)),
    ("logseries", (1,)),
    ("zipf", (1,)),
    ("multivariate_hypergeometric", ([1, 2], 4)),
    ("multivariate_hypergeometric", ([-1, 2], 1)),
    ("dirichlet", ([1, -1],)),
    ("multinomial", (5, [0.7, 0.7, 0.1])),
    ("multinomial", (5, [-0.1, 0.7])),
    ("multivariate_normal", ([0, 0], [[1]])),
    ("choice", (0,)),
    ("choice", (3, 4, False)),
    ("choice", (3, 1, True, [0.5, 0.6, 0.1])),
    ("choice", (3, 1, True, [1.5, -0.5, 0])),
    ("choice", (3, 1, True, [0.5, 0.5])),
    ("choice", (3, 2, False, [1, 0, 0])),
]


@pytest.mark.parametrize(("method", "arguments"), REFUSED)
def test_what_numpy_refuses_is_refused(method, arguments):
    errors = []
    for rng in (np.random.default_rng(1), Elements(5)):
        with pytest.raises((ValueError, TypeError)) as error:
            getattr(rng, method)(*arguments)
        errors.append(error.type)
    assert errors[0] is errors[1]


def test_a_refused_call_leaves_out_as_it_was():
    out = np.full(10, 7.0)
    for call in (
        lambda: Elements(5).gamma(-1, out=out),
        lambda: Elements(5).beta(1, 2, 11, out),
        lambda: Elements(5).weibull(1, out=out, first=2**64 - 9),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError, match="int64"):
        Elements(5).poisson(3, out=out)
    assert (out == 7).all()


def test_single_numbers_are_plain_ones():
    elements = Elements(5)
    assert type(elements.gamma(2.5)) is float and elements.gamma(2.5, first=7) == elements.gamma(2.5, size=8)[7]
    assert type(elements.poisson(4)) is int and elements.poisson(4, first=7) == elements.poisson(4, 8)[7]
    assert type(elements.choice(4)) is int and elements.choice("ab cd".split()) in ("ab", "cd")


def test_a_choice_is_of_the_population_and_its_shape():
    elements = Elements(5)
    rows = np.arange(30).reshape(10, 3)
    indices = elements.choice(10, (4, 5))
    assert indices.shape == (4, 5) and (elements.choice(rows, (4, 5)) == rows[indices]).all()
    weighted = elements.choice(10, 100_000, p=np.arange(10) / 45)
    assert np.abs(np.bincount(weighted, minlength=10) / 100_000 - np.arange(10) / 45).max() < 0.01
    assert (elements.choice(10, 50, p=np.arange(10) / 45, first=20) == weighted[20:70]).all()
    sample = elements.choice(1000, 100, replace=False)
    assert len(set(sample)) == 100 and (elements.choice(1000, 50, False, first=30) == sample[30:80]).all()


def test_a_weighted_sample_without_replacement_has_the_probabilities_of_one_after_the_other():
    weights = np.array([0.5, 0.3, 0.2, 0.0])
    firsts, pairs = np.zeros(4), np.zeros((4, 4))
    for path in range(20_000):
        one, two = Elements(5, path, "philox4x64-10").choice(4, 2, False, weights)
        firsts[one] += 1
        pairs[one, two] += 1
    expected = weights[:, None] * weights / (1 - weights[:, None])
    np.fill_diagonal(expected, 0)
    assert np.abs(firsts / 20_000 - weights).max() < 0.02 and np.abs(pairs / 20_000 - expected).max() < 0.02


@pytest.mark.parametrize("dimensions", [1, 2, 7, 256])
def test_points_without_scrambling_are_those_of_scipy(dimensions):
    qmc = pytest.importorskip("scipy.stats.qmc")
    sobol = qmc.Sobol(dimensions, scramble=False).random(1024)
    np.testing.assert_array_equal(Elements(5).sobol(dimensions, 1024, scramble=False), sobol)
    np.testing.assert_array_equal(Elements(5).sobol(dimensions, 24, scramble=False, first=1000), sobol[1000:])
    halton = qmc.Halton(dimensions, scramble=False).random(1000)
    np.testing.assert_array_equal(Elements(5).halton(dimensions, 1000, scramble=False), halton)


def test_scrambled_points_are_as_even_as_those_of_scipy_and_each_name_has_its_own():
    qmc = pytest.importorskip("scipy.stats.qmc")
    random = qmc.discrepancy(Elements(5).random((1024, 5)))
    for ours, theirs in (("sobol", qmc.Sobol), ("halton", qmc.Halton)):
        bound = 1.5 * max(qmc.discrepancy(theirs(5, rng=seed).random(1024)) for seed in range(5))
        points = [getattr(Elements(5, path), ours)(5, 1024) for path in range(5)]
        assert all(qmc.discrepancy(sample) < bound < random / 2 for sample in points)
        assert len({sample.tobytes() for sample in points}) == 5
        # Each point alone is uniform.
        single = np.concatenate([getattr(Elements(6, path), ours)(2, 1, first=9) for path in range(2000)])
        assert np.abs(single.mean(0) - 0.5).max() < 0.04 and np.abs(single.std(0) - 12**-0.5).max() < 0.02


# Arguments that are not parameters of a distribution.
OTHERS = {"self", "size", "dtype", "out", "first", "at", "of", "scramble", "endpoint", "replace", "axis", "shuffle"}


@pytest.mark.parametrize("name", TABLE)
def test_every_method_has_the_parameters_of_the_table_of_distributions(name):
    line, given = TABLE[name], inspect.signature(getattr(Elements, name)).parameters
    wanted = sorted(line.parameters, key=lambda parameter: parameter.default is not None)
    own = {parameter.name for parameter in wanted}
    others = OTHERS | ({"a"} if name == "choice" else set())
    named = [parameter for parameter in given.values() if parameter.name in own or parameter.name not in others]
    assert [parameter.name for parameter in named] == [parameter.name for parameter in wanted]
    # NumPy lets them out.
    optional = {"integers": ["high"], "choice": ["p"]}.get(name, [])
    for ours, theirs in zip(named, wanted, strict=True):
        default = None if ours.default is inspect.Parameter.empty or ours.name in optional else ours.default
        assert default == theirs.default
    assert ("dtype" in given) == (len(line.dtypes) > 1)
    assert ("at" in given) == ("of" in given) == (line.row is None and name != "choice")


def test_no_method_for_arrays_is_missing_in_the_table_of_distributions():
    methods = {name for kind in (Elements, *Elements.__bases__) for name in vars(kind) if not name.startswith("_")}
    assert methods - TABLE.keys() == {
        *("algorithm", "seed", "path", "child", "children", "fill", "bytes", "permutation", "permuted", "shuffle")
    }


def usual(line):
    """Values in the bounds of all parameters."""
    values = {
        "integers": {"low": 0, "high": 9},
        "truncated_normal": {"low": -1.0, "high": 2.0},
        "triangular": {"left": -1.0, "right": 2.0},
        "zipf": {"a": 2.0},
        "multivariate_hypergeometric": {"colors": [3, 4]},
    }.get(line.name, {})
    usual_ones = {"float": 0.5, "int": 5, "vector": [0.25, 0.75], "matrix": [[1.0, 0.5], [0.5, 2.0]]}
    given = {parameter.name: values.get(parameter.name, usual_ones[parameter.kind]) for parameter in line.parameters}
    return {"a": 2, **given} if line.name == "choice" else given


@pytest.mark.parametrize("name", TABLE)
def test_every_method_gives_the_types_and_rows_of_the_table_of_distributions(name):
    line, method = TABLE[name], getattr(Elements(5), name)
    given = usual(line)
    array = method(**given, size=(3, 4))
    assert array.dtype == line.dtypes[0]
    width = () if line.row is None else given[line.parameters[line.row].name]
    assert array.shape == (3, 4, *([] if width == () else [width if isinstance(width, int) else len(width)]))
    for dtype in line.dtypes if len(line.dtypes) > 1 else ():
        assert method(**given, size=3, dtype=dtype).dtype == dtype
    if name != "choice":
        kinds = ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
        for dtype in set(kinds) - set(line.dtypes):
            with pytest.raises(TypeError, match="dtype"):
                method(**given, out=np.zeros(array.shape, dtype))


def outside(parameter):
    """Values next to the bounds that a parameter does not allow."""
    low, high = parameter.low, parameter.high
    if parameter.kind == "int":
        return [int(low) - 1] if parameter.has_low and math.isfinite(low) else []
    ends = [math.nextafter(low, -math.inf) if parameter.has_low else low]
    ends += [math.nextafter(high, math.inf) if parameter.has_high else high, math.nan]
    return [value for value in ends if not (parameter.has_high and math.isinf(value))]


@pytest.mark.parametrize("name", TABLE)
def test_every_parameter_has_the_bounds_of_the_table_of_distributions(name):
    line, method = TABLE[name], getattr(Elements(5), name)
    for parameter in line.parameters:
        for value in outside(parameter):
            wrong = {"vector": [0.25, value], "matrix": [[1.0, value], [value, 2.0]]}.get(parameter.kind, value)
            with pytest.raises(ValueError):
                method(**{**usual(line), parameter.name: wrong}, size=1)
        # At the end of their bounds too, where no further rule connects parameters.
        if parameter.kind == "float" and len(line.parameters) == 1:
            for value, is_inside in ((parameter.low, parameter.has_low), (parameter.high, parameter.has_high)):
                if is_inside:
                    method(value, size=1)
        assert parameter.default is None or parameter.low <= parameter.default <= parameter.high
