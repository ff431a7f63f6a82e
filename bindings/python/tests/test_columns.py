"""Parameters that are arrays: element i is the number of the call with its own parameters, as NumPy broadcasts them."""

import numpy as np
import pytest

from wellspring import _native
from wellspring.random import Elements

TABLE = {name: line for name, line in _native.distributions().items() if line.takes_columns and line.parameters}

# Values of parameters whose rules connect them, or whose bounds are narrow.
SPECIAL = {
    "truncated_normal": {"low": [-2.0, 0.5], "high": [1.0, 3.0], "loc": [0.0, 0.25], "scale": [1.0, 2.0]},
    "triangular": {"left": [-1.0, 0.0], "mode": [0.0, 1.0], "right": [1.0, 5.0]},
    "uniform": {"low": [-1.0, 0.0], "high": [1.0, 5.0]},
    "hypergeometric": {"ngood": [5, 500], "nbad": [9, 800], "nsample": [4, 13]},
    "poisson": {"lam": [0.5, 9.0, 11.0, 1000.0]},
    "binomial": {"n": [5, 1000], "p": [0.2, 0.7, 0.0]},
    "zipf": {"a": [1.5, 3.0]},
}


def values_of(name):
    """Some values of each parameter, by its name."""
    shares = [0.1, 0.5, 0.9]
    given = {}
    for parameter in TABLE[name].parameters:
        usual = shares if parameter.has_high or parameter.high <= 1 else [0.3, 1.0, 4.5]
        given[parameter.name] = SPECIAL.get(name, {}).get(parameter.name, usual)
    return given


def columns(name, length):
    """A column for each parameter, with other periods."""
    values = values_of(name)
    return {key: np.resize(np.repeat(value, step), length) for step, (key, value) in enumerate(values.items(), 1)}


@pytest.mark.parametrize("name", TABLE)
def test_each_element_is_the_one_of_its_own_parameters(name):
    given, elements = columns(name, 60), Elements(5, "1/2")
    for dtype in TABLE[name].dtypes:
        keywords = {"dtype": dtype} if len(TABLE[name].dtypes) > 1 else {}
        array = getattr(elements, name)(**given, **keywords, first=7)
        assert array.shape == (60,) and array.dtype == dtype
        for i, number in enumerate(array):
            own = {key: column[i].item() for key, column in given.items()}
            assert getattr(elements, name)(**own, **keywords, size=1, first=7 + i)[0] == number, own


@pytest.mark.parametrize("name", TABLE)
def test_threads_cuts_and_layouts_do_not_matter(name):
    length = 100_000
    given, method = columns(name, length), getattr(Elements(5, threads=1), name)
    whole = method(**given)
    assert (getattr(Elements(5, threads=7), name)(**given) == whole).all()
    part = {key: column[999:70_000] for key, column in given.items()}
    assert (method(**part, first=999) == whole[999:70_000]).all()
    square = {key: column.reshape(250, 400) for key, column in given.items()}
    assert (method(**square) == whole.reshape(250, 400)).all()
    block = {key: column[50:70, 60:160] for key, column in square.items()}
    assert (method(**block, at=(50, 60), of=(250, 400)) == whole.reshape(250, 400)[50:70, 60:160]).all()
    strided = {key: np.repeat(column[:1000], 2)[::2] for key, column in given.items()}
    out = np.empty(2000, whole.dtype)[::2]
    assert method(**strided, out=out) is out and (out == whole[:1000]).all()


@pytest.mark.parametrize(
    ("loc", "scale", "size"),
    [
        ((3,), (), None),
        ((), (3,), (2, 3)),
        ((3, 1), (4,), None),
        ((3, 1), (4,), (2, 3, 4)),
        ((2, 1, 4), (3, 1), None),
        ((1, 1), (5,), (700, 5)),
        ((700, 1), (), (700, 600)),
        ((0,), (), None),
        ((1,), (1,), (3,)),
    ],
)
def test_shapes_are_those_of_numpy(loc, scale, size):
    rng, elements = np.random.default_rng(1), Elements(5)
    mean, sigma = rng.normal(size=loc), rng.uniform(1, 2, size=scale)
    array = elements.normal(mean, sigma, size)
    assert array.shape == rng.normal(mean, sigma, size).shape
    standard = elements.standard_normal(array.shape)
    np.testing.assert_array_equal(array, np.broadcast_to(mean, array.shape) + np.broadcast_to(sigma, array.shape) * standard)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("endpoint", [False, True])
def test_integers_take_ranges(dtype, endpoint):
    info, elements = np.iinfo(dtype), Elements(5)
    low = np.array([info.min, 0, 1, info.max, 0] * 200, object)
    high = np.array([info.max, info.max, 6, info.max, info.max // 2 + 1] * 200, object) + (not endpoint)
    array = elements.integers(low, high, dtype=dtype, endpoint=endpoint, first=3)
    assert array.dtype == dtype
    for i in range(1000):
        assert elements.integers(low[i], high[i], 1, dtype, endpoint, first=3 + i)[0] == array[i]
    plain = np.arange(1, 101, dtype=dtype)
    made = elements.integers(plain, dtype=dtype)
    assert (made == elements.integers(np.arange(1, 101), dtype=dtype)).all() and (made < plain).all()
    assert (elements.integers(0, plain, endpoint=True, out=np.empty(100, dtype)) <= plain).all()


def test_what_lists_tuples_masks_and_series_hold_is_taken():
    elements = Elements(5)
    expected = elements.normal(np.array([1.0, 2.0, 3.0]), 2)
    for loc in ([1, 2, 3], (1, 2, 3), np.float32([1, 2, 3]), np.ma.array([1, 2, 3]), range(1, 4), np.array([1, 2, 3], ">i4")):
        if not isinstance(loc, range):
            np.testing.assert_array_equal(elements.normal(loc, 2), expected)
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(elements.normal(pandas.Series([1, 2, 3]), 2), expected)
    repeated = np.broadcast_to(np.array([[1.0], [2.0]]), (2, 1000))
    np.testing.assert_array_equal(elements.exponential(repeated), elements.exponential(np.array(repeated)))


def test_a_refused_call_leaves_out_as_it_was():
    scale = np.ones(100_000)
    scale[-1] = -1
    out = np.full(100_000, 7.0)
    with pytest.raises(ValueError, match="scale"):
        Elements(5).normal(0, scale, out=out)
    high = np.full(100_000, 5)
    high[-1] = 0
    counts = np.full(100_000, 7)
    with pytest.raises(ValueError, match="low >= high"):
        Elements(5).integers(0, high, out=counts)
    assert (out == 7).all() and (counts == 7).all()
    with pytest.raises(OverflowError):
        Elements(5).uniform([0, -1e308], 1.7e308)


def test_weights_of_every_dtype_are_taken_as_numpy_takes_them():
    weights = np.arange(1, 101)
    for dtype in ("float16", "float32", "float64", "longdouble"):
        p = weights.astype(dtype) / weights.astype(dtype).sum()
        if dtype != "longdouble":
            np.random.default_rng(1).choice(100, 5, p=p)
        counts = np.bincount(Elements(5).choice(100, 100_000, p=p), minlength=100)
        assert np.abs(counts / 100_000 - weights / 5050).max() < 0.005
        assert len(set(Elements(5).choice(100, 50, False, p))) == 50
    for p in ([1, 0], (True, False), np.array([1, 0], object), np.uint8([1, 0])):
        assert Elements(5).choice(2, 5, p=p).tolist() == [0] * 5
    for wrong in (np.float64([0.5, 0.501]), [float("nan"), 1], [[0.5, 0.5]], np.float32([0.5, 0.51])):
        for rng in (np.random.default_rng(1), Elements(5)):
            with pytest.raises(ValueError):
                rng.choice(2, 3, p=wrong)
    rows = np.arange(12).reshape(3, 4)
    columns = Elements(5).choice(rows, (2, 5), axis=1, shuffle=False)
    assert columns.shape == (3, 2, 5) and (columns[1] - columns[0] == 4).all()
    assert (Elements(5).permutation(rows, axis=1) == rows[:, Elements(5).permutation(4)]).all()


def test_each_row_has_an_order_of_its_own():
    x = np.arange(3000).reshape(300, 10)
    for axis, shape in ((1, x), (-1, x), (0, x.T)):
        made = Elements(5).permuted(shape, axis=axis)
        made = made if shape is x else made.T
        assert (np.sort(made, 1) == x).all() and len(np.unique(made % 10, axis=0)) > 290
    whole = Elements(5).permuted(x)
    assert (np.sort(whole.reshape(-1)) == x.reshape(-1)).all() and whole.shape == x.shape
    out = np.empty_like(x)
    assert Elements(5).permuted(x, 1, out) is out and (out == Elements(5).permuted(x, 1)).all()
    with pytest.raises(ValueError, match="axis 2"):
        Elements(5).permuted(x, 2)


# Parameters of rows: values for two rows, by which the last dimension, the last two, or none belong to a row.
ROWS = {
    "dirichlet": [([[0.5, 2.0, 3.0], [1.0, 9.0, 1e-3]],)],
    "multinomial": [
        ([7, 1000], [[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]]),
        ([7, 1000], [0.2, 0.3, 0.5]),
        (1000, [[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]]),
    ],
    "multivariate_hypergeometric": [([[16, 8, 4], [500, 0, 900]], [6, 30]), ([16, 8, 4], [6, 28])],
    "multivariate_normal": [
        ([[0.0, 1.0], [5.0, -3.0]], [[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [0.0, 4.0]]]),
        ([[0.0, 1.0], [5.0, -3.0]], [[2.0, 1.0], [1.0, 3.0]]),
        ([0.0, 1.0], [[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [0.0, 4.0]]]),
    ],
    "subsets": [([5, 10_000], 3)],
}
# How many dimensions of each parameter belong to one row.
OWN = {"float": 0, "int": 0, "vector": 1, "matrix": 2}


def of_row(name, given, row):
    """The parameters of one row."""
    kinds = [OWN[parameter.kind] for parameter in _native.distributions()[name].parameters]
    arrays = zip(map(np.asarray, given), kinds, strict=True)
    picked = [array[row] if array.ndim > own else array for array, own in arrays]
    return [value.item() if value.ndim == 0 else value for value in picked]


@pytest.mark.parametrize(("name", "given"), [(name, given) for name, calls in ROWS.items() for given in calls])
def test_each_row_is_the_one_of_its_own_parameters(name, given):
    elements, method = Elements(5, "1/2"), getattr(Elements(5, "1/2"), name)
    made = method(*given, first=7)
    for row in range(2):
        assert (getattr(elements, name)(*of_row(name, given, row), first=7 + row) == made[row]).all()
    repeated = method(*given, size=(3, 2))
    assert repeated.shape == (3, 2, made.shape[-1])
    for row in range(6):
        assert (method(*of_row(name, given, row % 2), first=row) == repeated.reshape(6, -1)[row]).all()
    out = np.empty(repeated.shape, repeated.dtype, order="F")
    assert method(*given, out=out) is out and (out == repeated).all()
    several = method(*given, size=(30_000, 2))
    assert (getattr(Elements(5, "1/2", threads=7), name)(*given, size=(30_000, 2)) == several).all()


def test_rows_have_the_shapes_of_numpy():
    rng, elements, p = np.random.default_rng(1), Elements(5), [0.25, 0.75]
    for n, pvals, size in (
        ([1, 2, 3], p, None),
        ([1, 2, 3], p, (4, 3)),
        ([[1], [2]], [p, p, p], None),
        (5, [[p], [p]], (2, 7)),
        (np.array([], np.int64), p, None),
        (np.array([5]), p, 3),
    ):
        assert elements.multinomial(n, pvals, size).shape == rng.multinomial(n, pvals, size).shape
    for n, pvals, size in (([1, 2], p, 3), ([1, 2], [p, p, p], None), ([1, 2], p, (2, 3))):
        for each in (rng, elements):
            with pytest.raises(ValueError):
                each.multinomial(n, pvals, size)


def test_wrong_parameters_of_rows_are_refused_and_leave_out_as_it_was():
    elements, out = Elements(5), np.full((2, 2), 7)
    for error, call in (
        (ValueError, lambda: elements.multinomial([3, -1], [0.5, 0.5], out=out)),
        (ValueError, lambda: elements.multinomial([3, 4], [[0.5, 0.5], [1.5, 0.5]], out=out)),
        (ValueError, lambda: elements.multinomial([3, 4], [[0.5, 0.5], [0.5]], out=out)),
        (ValueError, lambda: elements.multinomial([3, 4, 5], [0.5, 0.5], out=out)),
        (ValueError, lambda: elements.multinomial(np.uint64([3, 2**63]), [0.5, 0.5], out=out)),
        (ValueError, lambda: elements.multinomial([3, 4], [0.5, 0.5], out=out, first=2**63)),
        (TypeError, lambda: elements.multinomial([3.5, 1], [0.5, 0.5], out=out)),
        (TypeError, lambda: elements.multinomial([3, 1], [["a"], ["b"]], out=out)),
        (TypeError, lambda: elements.multinomial([3, 1], 0.5, out=out)),
        (ValueError, lambda: elements.multivariate_normal([0, 0], np.ones((2, 2, 3)))),
        (ValueError, lambda: elements.multivariate_normal(np.zeros((2, 3)), np.eye(2))),
        (TypeError, lambda: elements.subsets(5, [2, 3])),
        (TypeError, lambda: elements.sphere([2, 3])),
        (TypeError, lambda: elements.sobol([2, 3])),
    ):
        with pytest.raises(error):
            call()
    assert (out == 7).all()
    with pytest.raises(TypeError, match="k must be one integer, the length of all rows: make a call for each length"):
        elements.subsets([5, 6], [2, 3])
