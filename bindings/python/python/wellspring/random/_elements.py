"""Arrays whose element i depends on the name of the array and on i alone.

Which distributions there are, with which parameters, bounds and types, is in one table: `wellspring._native.distributions`. The
methods check and draw from it, and their documentation gets its sections on parameters from it.
"""

from __future__ import annotations

import array
import builtins
import math
import operator
import sys
from collections.abc import Callable, Iterable, MutableSequence
from typing import Any, TypeVar

from wellspring import _native
from wellspring.random._arguments import (
    Path,
    Shape,
    block,
    checked_algorithm,
    checked_bound,
    checked_count,
    checked_first,
    checked_integer,
    checked_length,
    checked_matrix,
    checked_memory,
    checked_number,
    checked_numbers,
    checked_path,
    checked_seed,
    checked_shape,
    checked_threads,
    checked_weights,
    fresh_seed,
    into,
    numpy_for,
    words_of,
)

Size = int | Iterable[int] | None
Indices = Iterable[int] | None
Method = TypeVar("Method", bound=Callable[..., Any])

_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "float": checked_number,
    "int": checked_count,
    "vector": checked_numbers,
    "matrix": checked_matrix,
}


class _Line:
    """A line of the table: what a call looks at."""

    def __init__(self, distribution: _native.Distribution) -> None:
        self.distribution = distribution
        self.dtypes = tuple(distribution.dtypes)
        # The parameter that says how many numbers a row has.
        self.row = distribution.row
        # In the order of `draw`. Bounds are looked at where numbers are made.
        self.checks = [
            (checked_bound if own.has_high and own.high == math.inf else _CHECKS[own.kind], own.name)
            for own in distribution.parameters
        ]


_TABLE = {name: _Line(distribution) for name, distribution in _native.distributions().items()}

# What methods say of the arguments that are not parameters of their distribution.
_COMMON = {
    "size": "int or tuple of ints, optional\n    The shape. Without it, and without out, {one} is returned.",
    "dtype": "{dtypes}, optional\n    The type of the numbers.",
    "out": "array, optional\n    What to fill and return: an array, or any object with a writable buffer of this dtype.",
    "first": "int, default 0\n    The index of the first {element}.",
    "at": "tuple of ints, optional\n    With of: where the block to make begins in an array of the shape of.",
    "of": "tuple of ints, optional\n    The shape of that array.",
    "scramble": "bool, default True\n    Whether the points are scrambled by the name.",
    "endpoint": "bool, default False\n    Whether high can come.",
}
_RAISED = (
    "Raises",
    "------",
    "ValueError",
    "    If a value is out of its bounds, or a shape or an index does not fit. An out is then as it was.",
    "TypeError",
    "    If an argument is of another type.",
)
_KINDS = {"float": "float", "int": "int", "vector": "sequence of floats", "matrix": "square matrix of floats"}


def _bounds(parameter: _native.Parameter) -> str:
    """Return the bounds of a parameter in words."""
    low, high = parameter.low, parameter.high
    if low == -math.inf and parameter.kind == "int":
        return "Any number that the dtype has."
    if low == -math.inf:
        return "Also infinite." if parameter.has_low else "Finite."
    text = f"{'From' if parameter.has_low else 'Above'} {low:g}"
    if high >= 1 << 63:
        return f"{text} on." if parameter.has_low else f"{text}."
    return f"{text} to {high:g}." if parameter.has_low else f"{text}, at most {high:g}."


def _described(method: Method) -> Method:
    """Put the sections on parameters, on what is returned and on errors into the documentation, before its examples."""
    if method.__doc__ is None:
        return method
    line = _TABLE[method.__name__]
    dtypes, row = line.dtypes, line.row
    own = {parameter.name: parameter for parameter in line.distribution.parameters}
    text = {"one": "one number", "element": "element", "dtypes": ", ".join(map(repr, dtypes))}
    returned = f"{'float' if dtypes[0] == 'float64' else 'int'}, or array of {dtypes[0] if len(dtypes) == 1 else 'the dtype'}"
    if row is not None:
        text.update(one="one row", element="row")
        returned = f"array of {dtypes[0]}, whose last dimension is a row"
    code = method.__code__
    lines = ["", "Parameters", "----------"]
    for name in code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]:
        if name in own:
            default = own[name].default
            lines.append(f"{name} : {_KINDS[own[name].kind]}" + ("" if default is None else f", default {default:g}"))
            lines.append("    " + _bounds(own[name]))
        else:
            lines.append(f"{name} : {_COMMON[name].format(**text)}")
    lines += ["", "Returns", "-------", returned, "", *_RAISED, "", "Examples\n"]
    # Up to Python 3.12 a documentation is indented as the source is.
    summary, _, examples = method.__doc__.replace("\n        ", "\n").partition("\nExamples\n")
    method.__doc__ = summary + "\n".join(lines) + examples
    return method


class Elements:
    """Arrays of random numbers, named by an algorithm, a seed and a path.

    Element i of an array depends on the name, the kind of numbers and i alone. Any number of threads, any cut into
    pieces and any machine give the same array. Two calls with the same arguments give the same numbers, and numbers of one
    distribution with other parameters come from the same words: take another path for each array.

    Parameters
    ----------
    seed : int, SeedSequence or None
        From 0 to 2**128 - 1, a `SeedSequence` of NumPy, or None for 128 fresh bits of the engine.
    path : int, sequence of ints or str, default ()
        Integers below 2**32, such as 3 or (3, 0, 17), or text such as '3/0/17'. Take it from what a task is.
    algorithm : str, default 'chacha8'
        'chacha8', 'chacha12', 'chacha20', 'aes256-ctr' or 'philox4x64-10', in letters of any case.
    threads : int, optional
        The most threads to work on. None means all cores of the process. The numbers do not depend on it.

    Raises
    ------
    ValueError
        If the seed, the path or the algorithm is not valid.
    TypeError
        If an argument is of another type, or a path goes with a SeedSequence, which has its own.

    Notes
    -----
    Parameters of distributions are single numbers, not arrays. An `out` with strides is filled in C order. Instead of
    consecutive elements, `at` and `of` make a block: ``random((10, 5), at=(20, 40), of=(100, 100))`` equals
    ``random((100, 100))[20:30, 40:45]``. Other threads of Python run while numbers are made.

    Examples
    --------
    >>> name = Elements(2026, (3, 0, 17))
    >>> a = name.random((1000, 1000))
    >>> bool((name.random((10, 1000), first=500_000) == a[500:510]).all())
    True
    >>> name.integers(1, 7, 5).tolist() == name.integers(1, 7, 9)[:5].tolist()
    True
    """

    __slots__ = ("_algorithm", "_native", "_path", "_seed", "_threads", "_words")

    def __init__(
        self, seed: Any = None, path: Path = (), algorithm: str = "chacha8", *, threads: int | None = None
    ) -> None:
        self._algorithm = algorithm = checked_algorithm(algorithm)
        self._path = checked_path(path)
        self._threads = checked_threads(threads)
        self._words: tuple[int, ...] | None = None
        self._seed: int | None = None
        if hasattr(seed, "generate_state"):
            if self._path:
                raise TypeError("path goes with an integer seed: a SeedSequence has its own spawn_key")
            self._words = tuple(words_of(algorithm, seed))
            self._native = _native.Elements.from_words(algorithm, list(self._words))
        else:
            self._seed = fresh_seed() if seed is None else checked_seed(seed)
            self._native = _native.Elements(algorithm, self._seed, self._path)

    @property
    def algorithm(self) -> str:
        """The name of the algorithm."""
        return self._algorithm

    @property
    def seed(self) -> int | None:
        """The seed, whether given or drawn; None if a SeedSequence was given."""
        return self._seed

    @property
    def path(self) -> tuple[int, ...]:
        """The path."""
        return self._path

    def child(self, *keys: int) -> Elements:
        """Return the arrays of the path that is longer by these keys.

        Examples
        --------
        >>> Elements(2026, 3).child(0, 17) == Elements(2026, "3/0/17")
        True
        """
        if self._seed is None:
            raise TypeError("child needs an integer seed; a SeedSequence has spawn")
        return Elements(self._seed, (*self._path, *checked_path(keys)), self._algorithm, threads=self._threads)

    def fill(self, out: Any, *, first: int = 0) -> Any:
        """Fill a buffer with bytes of the stream of this name.

        They are the bytes of `wellspring bytes --pseudo ALGORITHM --seed SEED --stream PATH`.

        Parameters
        ----------
        out : writable, contiguous buffer
            Its elements are numbers or strings of bytes, of any byte order. It is returned.
        first : int, default 0
            The number of the first byte, below 2**128.

        Examples
        --------
        >>> Elements(2026).fill(bytearray(4), first=1000).hex()
        '18564576'
        """
        self._native.fill(checked_memory(out), checked_first(first, 1 << 128), self._thread_count())
        return out

    def bytes(self, length: int, *, first: int = 0) -> builtins.bytes:
        """Return `length` bytes of the stream of this name, from byte `first` on.

        Examples
        --------
        >>> Elements(2026).bytes(4, first=1000).hex()
        '18564576'
        """
        return self._native.bytes(checked_length(length), checked_first(first, 1 << 128), self._thread_count())

    # ---- elements that are one number ----

    @_described
    def random(
        self, size: Size = None, dtype: Any = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return uniform numbers in [0, 1): 0 can come, 1 cannot.

        Examples
        --------
        >>> Elements(2026).random(3).round(3).tolist()
        [0.364, 0.167, 0.59]
        """
        return self._draw("random", (), size, dtype, out, first, at, of)

    @_described
    def uniform(
        self, low: float = 0.0, high: float = 1.0, size: Size = None, dtype: Any = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return low + (high - low) * u, u uniform in [0, 1). Rounding can give high, as in NumPy.

        high must not be below low. `OverflowError` says that high - low is not finite.

        Examples
        --------
        >>> Elements(2026).uniform(-1, 1, 3).round(3).tolist()
        [-0.273, -0.665, 0.18]
        """
        if not abs(checked_number(high, "high") - checked_number(low, "low")) < math.inf:
            raise OverflowError("high - low must be finite")
        return self._draw("uniform", (low, high), size, dtype, out, first, at, of)

    @_described
    def standard_normal(
        self, size: Size = None, dtype: Any = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return normal numbers with mean 0 and variance 1.

        Examples
        --------
        >>> Elements(2026).standard_normal((2, 2)).round(3).tolist()
        [[-0.447, 0.324], [0.314, 1.219]]
        """
        return self._draw("standard_normal", (), size, dtype, out, first, at, of)

    @_described
    def normal(
        self, loc: float = 0.0, scale: float = 1.0, size: Size = None, dtype: Any = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return normal numbers with the mean loc and the standard deviation scale.

        Examples
        --------
        >>> Elements(2026).normal(100, 15, 3).round(1).tolist()
        [93.3, 104.9, 104.7]
        """
        return self._draw("normal", (loc, scale), size, dtype, out, first, at, of)

    @_described
    def exponential(
        self, scale: float = 1.0, size: Size = None, dtype: Any = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return exponential numbers with the mean scale.

        Examples
        --------
        >>> Elements(2026).exponential(2.0, 3).round(3).tolist()
        [0.675, 8.829, 1.557]
        """
        return self._draw("exponential", (scale,), size, dtype, out, first, at, of)

    @_described
    def truncated_normal(
        self, low: float, high: float, loc: float = 0.0, scale: float = 1.0, size: Size = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return normal numbers from low to high, exact in the tails too. low is below high.

        Examples
        --------
        >>> Elements(2026).truncated_normal(3.0, float("inf"), size=3).round(3).tolist()
        [3.127, 3.749, 3.437]
        """
        return self._draw("truncated_normal", (loc, scale, low, high), size, None, out, first, at, of)

    @_described
    def lognormal(
        self, mean: float = 0.0, sigma: float = 1.0, size: Size = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return numbers whose logarithm is normal with this mean and standard deviation.

        Examples
        --------
        >>> Elements(2026).lognormal(0.0, 0.5, 3).round(3).tolist()
        [1.56, 2.311, 0.695]
        """
        return self._draw("lognormal", (mean, sigma), size, None, out, first, at, of)

    @_described
    def weibull(
        self, a: float, size: Size = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return numbers of the Weibull distribution with the shape a and the scale 1.

        Examples
        --------
        >>> Elements(2026).weibull(1.5, 3).round(3).tolist()
        [0.636, 2.326, 0.946]
        """
        return self._draw("weibull", (a,), size, None, out, first, at, of)

    @_described
    def standard_cauchy(
        self, size: Size = None, out: Any = None, *, first: int = 0, at: Indices = None, of: Indices = None
    ) -> Any:
        """Return numbers of the Cauchy distribution around 0 with the scale 1.

        Examples
        --------
        >>> Elements(2026).standard_cauchy(3).round(3).tolist()
        [-16.028, 1.56, -22.065]
        """
        return self._draw("standard_cauchy", (), size, None, out, first, at, of)

    @_described
    def gamma(
        self, shape: float, scale: float = 1.0, size: Size = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return gamma numbers with the mean shape * scale.

        Examples
        --------
        >>> Elements(2026).gamma(2.5, size=3).round(3).tolist()
        [3.558, 1.552, 1.772]
        """
        return self._draw("gamma", (shape, scale), size, None, out, first, at, of)

    @_described
    def chisquare(
        self, df: float, size: Size = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return chi-square numbers with df degrees of freedom: the same as gamma(df / 2, 2).

        Examples
        --------
        >>> Elements(2026).chisquare(3, 3).round(3).tolist()
        [4.503, 1.466, 1.768]
        """
        return self._draw("chisquare", (df,), size, None, out, first, at, of)

    @_described
    def beta(
        self, a: float, b: float, size: Size = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return numbers from 0 to 1 with the mean a / (a + b).

        Examples
        --------
        >>> Elements(2026).beta(2, 5, 3).round(3).tolist()
        [0.559, 0.138, 0.302]
        """
        return self._draw("beta", (a, b), size, None, out, first, at, of)

    @_described
    def standard_t(
        self, df: float, size: Size = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return numbers of Student's t distribution with df degrees of freedom.

        Examples
        --------
        >>> Elements(2026).standard_t(4, 3).round(3).tolist()
        [2.913, -1.461, 0.51]
        """
        return self._draw("standard_t", (df,), size, None, out, first, at, of)

    @_described
    def geometric(
        self, p: float, size: Size = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return how many trials it takes to the first success, which is counted too. Each succeeds with the probability p.

        Examples
        --------
        >>> Elements(2026).geometric(0.2, 5).tolist()
        [11, 6, 11, 2, 15]
        """
        return self._draw("geometric", (p,), size, None, out, first, at, of)

    @_described
    def binomial(
        self, n: int, p: float, size: Size = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return how many of n trials succeed, each with the probability p. Counts above 2**53 are rounded to floats.

        Examples
        --------
        >>> Elements(2026).binomial(100, 0.3, 5).tolist()
        [28, 31, 29, 19, 40]
        """
        return self._draw("binomial", (n, p), size, None, out, first, at, of)

    @_described
    def poisson(
        self, lam: float = 1.0, size: Size = None, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return Poisson numbers with the mean lam. Counts above 2**53 are rounded to floats.

        Examples
        --------
        >>> Elements(2026).poisson(4.0, 5).tolist()
        [0, 1, 6, 1, 5]
        """
        return self._draw("poisson", (lam,), size, None, out, first, at, of)

    @_described
    def integers(
        self, low: int, high: int | None = None, size: Size = None, dtype: Any = None, endpoint: bool = False, out: Any = None,
        *, first: int = 0, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return integers from low to high, without high unless endpoint is true; from 0 to low if high is None.

        All have exactly the same probability. Both ends must be integers of the dtype.

        Examples
        --------
        >>> Elements(2026).integers(1, 6, 8, endpoint=True).tolist()
        [3, 4, 5, 4, 5, 3, 6, 4]
        """
        start, end = checked_integer(low, "low"), 0 if high is None else checked_integer(high, "high")
        if high is None:
            start, end = 0, start
        last = end if endpoint else end - 1
        if start > last:
            raise ValueError("low >= high" if not endpoint else "low > high")
        if start < -(1 << 63):
            raise ValueError("low is out of bounds for 64 bits")
        if last >= 1 << 64:
            raise ValueError("high is out of bounds for 64 bits")

        def make(target: Any, shape: Shape) -> None:
            self._native.integers(target, block(shape, first, at, of), (start, last), self._thread_count())

        return into(make, size, dtype, out, _TABLE["integers"].dtypes)

    def choice(
        self, a: Any, size: Size = None, replace: bool = True, p: Iterable[float] | None = None, *, first: int = 0
    ) -> Any:
        """Return elements of a, or integers below a, with the probabilities p or with equal ones.

        Without replacement they are the first of `permutation`. With p as well, they are the elements with the least
        ``exponential(size=len(p)) / p`` (Efraimidis and Spirakis, 2006), and first must be 0.

        Parameters
        ----------
        a : int or array
            How many integers, or the elements: rows of an array with several dimensions.
        size : int or tuple of ints, optional
            The shape. Without it one element is returned.
        replace : bool, default True
            Whether an element can come more than once.
        p : sequence of floats, optional
            A probability for each element. From 0 to 1; their sum is 1, within NumPy's tolerance.
        first : int, default 0
            The index of the first element.

        Raises
        ------
        ValueError
            If a is empty, p does not fit it, or there are not as many elements without replacement.

        Examples
        --------
        >>> Elements(2026).choice(["red", "green", "blue"], 4, p=[0.5, 0.3, 0.2]).tolist()
        ['green', 'red', 'red', 'red']
        >>> Elements(2026).choice(1_000_000, 3, replace=False).tolist()
        [209556, 805864, 890641]
        """
        np = numpy_for("choice")
        try:
            population, count = None, operator.index(a)
        except TypeError:
            population = np.asarray(a)
            if population.ndim == 0:
                raise TypeError("a must be an integer or a sequence") from None
            count = len(population)
        shape: Shape = () if size is None else checked_shape(size, "size")
        if count <= 0 and math.prod(shape) > 0:
            raise ValueError("a must be above 0, or have elements")
        weights = None if p is None else checked_weights(p, count)
        indices = self._indices(np, count, math.prod(shape), replace, weights, first).reshape(shape)
        if size is None:
            return int(indices) if population is None else population[int(indices)]
        return indices if population is None else population[indices]

    def _indices(
        self, np: Any, count: int, length: int, replace: bool, weights: list[float] | None, first: int
    ) -> Any:
        if replace and weights is None:
            return self.integers(count, size=length, first=first)
        if replace:
            return self._draw("choice", (weights,), length, None, None, first)
        if checked_first(first) + length > count:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        if weights is None:
            return self.permutation(count, length, first=first)
        if first != 0:
            raise ValueError("first goes with replacement, or without p")
        if sum(weight > 0 for weight in weights) < length:
            raise ValueError("Fewer non-zero entries in p than size")
        with np.errstate(divide="ignore", invalid="ignore"):
            keys = self.exponential(size=count) / np.array(weights)
        keys[np.array(weights) == 0] = np.inf
        return np.argsort(keys, kind="stable")[:length]

    # ---- elements that are rows: `first` counts rows, and there are no blocks ----

    @_described
    def subsets(self, n: int, k: int, size: Size = None, out: Any = None, *, first: int = 0) -> Any:
        """Return rows of k of the numbers 0 to n - 1, in random order; with k = n orders of n numbers.

        Examples
        --------
        >>> Elements(2026).subsets(49, 6, 2).tolist()
        [[47, 12, 24, 16, 44, 19], [17, 25, 13, 14, 40, 22]]
        """
        return self._draw("subsets", (n, k), size, None, out, first)

    @_described
    def dirichlet(self, alpha: Iterable[float], size: Size = None, out: Any = None, *, first: int = 0) -> Any:
        """Return rows of numbers from 0 to 1 whose sum is 1: number j is on average alpha[j] of the sum of alpha.

        Examples
        --------
        >>> Elements(2026).dirichlet([1.0, 2.0, 5.0], 2).round(3).tolist()
        [[0.237, 0.214, 0.549], [0.368, 0.215, 0.417]]
        """
        return self._draw("dirichlet", (alpha,), size, None, out, first)

    @_described
    def multinomial(
        self, n: int, pvals: Iterable[float], size: Size = None, out: Any = None, *, first: int = 0
    ) -> Any:
        """Return rows of counts: how often each result comes in n trials. The last probability is what the others leave to 1.

        Examples
        --------
        >>> Elements(2026).multinomial(20, [0.2, 0.3, 0.5], 2).tolist()
        [[4, 7, 9], [4, 4, 12]]
        """
        return self._draw("multinomial", (n, pvals), size, None, out, first)

    @_described
    def multivariate_normal(
        self, mean: Iterable[float], cov: Iterable[Iterable[float]], size: Size = None, out: Any = None,
        *, first: int = 0,
    ) -> Any:
        """Return rows of normal numbers with this mean and covariance, by Cholesky's factor.

        cov is symmetric, and has no eigenvalue below 0, within 1e-8 of its largest variance.

        Examples
        --------
        >>> Elements(2026).multivariate_normal([0, 10], [[2, 1], [1, 3]], 2).round(3).tolist()
        [[1.68, 12.518], [-1.735, 9.713]]
        """
        return self._draw("multivariate_normal", (mean, cov), size, None, out, first)

    @_described
    def sphere(self, dimensions: int, size: Size = None, out: Any = None, *, first: int = 0) -> Any:
        """Return rows of numbers: points on the sphere with the radius 1 in `dimensions` dimensions.

        Examples
        --------
        >>> Elements(2026).sphere(3, 2).round(3).tolist()
        [[-0.198, -0.108, 0.974], [-0.9, -0.14, 0.414]]
        """
        return self._draw("sphere", (dimensions,), size, None, out, first)

    @_described
    def sobol(self, dimensions: int, size: Size = None, out: Any = None, *, scramble: bool = True, first: int = 0) -> Any:
        """Return points of Sobol's sequence, in [0, 1) in each dimension.

        Take 2**k points from a multiple of 2**k on. Without scrambling they are the points of `scipy.stats.qmc.Sobol`.

        Examples
        --------
        >>> Elements(2026).sobol(2, 4, scramble=False).tolist()
        [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
        """
        count = checked_count(dimensions, "dimensions")

        def make(target: Any, start: int) -> None:
            self._native.sobol(count, bool(scramble), target, start, self._thread_count())

        return _rows(make, count, ("float64",), size, out, first)

    @_described
    def halton(self, dimensions: int, size: Size = None, out: Any = None, *, scramble: bool = True, first: int = 0) -> Any:
        """Return points of Halton's sequence, in [0, 1) in each dimension.

        Without scrambling they are the points of `scipy.stats.qmc.Halton`.

        Examples
        --------
        >>> Elements(2026).halton(2, 3, scramble=False).round(3).tolist()
        [[0.0, 0.0], [0.5, 0.333], [0.25, 0.667]]
        """
        count = checked_count(dimensions, "dimensions")

        def make(target: Any, start: int) -> None:
            self._native.halton(count, bool(scramble), target, start, self._thread_count())

        return _rows(make, count, ("float64",), size, out, first)

    # ---- orders ----

    def permutation(self, x: Any, size: int | None = None, out: Any = None, *, first: int = 0) -> Any:
        """Return the numbers 0 to x - 1 in random order as int64, or the rows of an array x in random order.

        Parameters
        ----------
        x : int or array
            How many numbers, below 2**63, or the rows.
        size : int, optional
            How many numbers of the order to return: the places first to first + size - 1. Without it all from first on.
        out : array, optional
            What to fill and return: an array of int64, or any object with such a writable buffer.
        first : int, default 0
            The first place.

        Raises
        ------
        ValueError
            If x does not have that many places.
        TypeError
            If size, out or first goes with an array.

        Examples
        --------
        >>> Elements(2026).permutation(5).tolist()
        [2, 0, 4, 3, 1]
        >>> Elements(2026).permutation(10**12, 2, first=10**9).tolist()
        [888561455710, 873708280834]
        """
        try:
            length = operator.index(x)
        except TypeError:
            np = numpy_for("a permutation of an array")
            rows = np.asarray(x)
            if rows.ndim == 0:
                raise TypeError("x must be an integer or an array") from None
            if size is not None or out is not None or first != 0:
                raise TypeError("size, out and first go with an integer x") from None
            return rows[self.permutation(len(rows))]
        if not 0 <= length < 1 << 63:
            raise ValueError("x must be from 0 to 2**63 - 1")
        start = checked_first(first)
        if size is None and out is None:
            size = max(length - start, 0)

        def make(target: Any, shape: Shape) -> None:
            self._native.permutation(target, start, length, self._thread_count())

        return into(make, size, None, out, ("int64",))

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Bring a list, an array or another mutable sequence into a random order, in place.

        All orders have the same probability. The order depends on the name and the number of elements alone.

        Parameters
        ----------
        x : mutable sequence
            An array with several dimensions is shuffled along `axis`: its rows keep their contents.
        axis : int, default 0
            The axis of an array of NumPy. Other sequences have one.

        Examples
        --------
        >>> cards = ["ace", "king", "queen", "jack"]
        >>> Elements(2026, 0).shuffle(cards)
        >>> cards
        ['jack', 'queen', 'ace', 'king']
        """
        try:
            axis = operator.index(axis)
        except TypeError:
            raise TypeError("axis must be an integer") from None
        np = sys.modules.get("numpy")
        if np is not None and isinstance(x, np.ndarray):
            _shuffle_array(np, self._native, x, axis)
            return
        if axis != 0:
            raise ValueError("axis goes with NumPy's arrays: it must be 0 here")
        _shuffle_sequence(self._native, x)

    def _draw(
        self, name: str, given: tuple[Any, ...], size: Size, dtype: Any, out: Any,
        first: int, at: Indices = None, of: Indices = None,
    ) -> Any:
        """Return elements of a distribution with these parameters, in their order in the table."""
        line = _TABLE[name]
        values: list[Any] = [check(value, name) for (check, name), value in zip(line.checks, given, strict=True)]
        if line.row is not None:
            width = values[line.row] if isinstance(values[line.row], int) else len(values[line.row])

            def make_rows(target: Any, start: int) -> None:
                self._native.draw(line.distribution, values, target, (start, []), self._thread_count())

            return _rows(make_rows, width, line.dtypes, size, out, first)

        def make(target: Any, shape: Shape) -> None:
            self._native.draw(line.distribution, values, target, block(shape, first, at, of), self._thread_count())

        return into(make, size, dtype, out, line.dtypes)

    def _thread_count(self) -> int:
        # 0 means all.
        return 0 if self._threads is None else self._threads

    def __reduce__(self) -> tuple[Any, ...]:
        name = self._seed if self._words is None else None
        return _restored, (name, self._path, self._algorithm, self._threads, self._words)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Elements):
            return NotImplemented
        return self._name() == other._name()

    def __hash__(self) -> int:
        return hash(self._name())

    def _name(self) -> tuple[Any, ...]:
        return self._algorithm, self._seed, self._path, self._words

    def __repr__(self) -> str:
        if self._words is not None:
            return f"<Elements of a SeedSequence, {self._algorithm}>"
        return f"Elements({self._seed}, {self._path}, {self._algorithm!r})"


class _Words:
    """A key in the place of a SeedSequence."""

    def __init__(self, words: tuple[int, ...]) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = None) -> tuple[int, ...]:
        return self._words[:n_words]


def _restored(
    seed: int | None, path: tuple[int, ...], algorithm: str, threads: int | None, words: tuple[int, ...] | None
) -> Elements:
    """Return arrays from their pickle."""
    return Elements(seed if words is None else _Words(words), path, algorithm, threads=threads)


def _rows(make: Callable[[Any, int], None], width: int, dtypes: tuple[str, ...], size: Size, out: Any, first: int) -> Any:
    """Return rows of so many numbers; one row, if neither size nor out is given."""

    def checked(target: Any, shape: Shape) -> None:
        if shape[-1:] != (width,):
            raise ValueError(f"out must have rows of {width} numbers")
        make(target, checked_first(first))

    if size is not None:
        size = (*checked_shape(size, "size"), width)
    elif out is None:
        size = width
    return into(checked, size, None, out, dtypes)


def _shuffle_sequence(native: _native.Elements, x: Any) -> None:
    """Shuffle a sequence that is not an array of NumPy."""
    try:
        view = memoryview(x)
    except (TypeError, ValueError, BufferError):
        if not isinstance(x, MutableSequence):
            raise TypeError(f"x must be a list, an array or another mutable sequence, not {type(x).__name__}") from None
    else:
        with view:
            if view.readonly:
                raise ValueError("x is read-only")
            if view.ndim != 1:
                raise TypeError("x must have one dimension")
            # Text and booleans are exchanged one by one.
            if view.c_contiguous and view.format in tuple("bBhHiIlLqQfd"):
                native.shuffle(x)
                return
    items = list(x)
    order = array.array("q", range(len(items)))
    native.shuffle(order)
    for place, number in enumerate(order):
        x[place] = items[number]


def _shuffle_array(np: Any, native: _native.Elements, x: Any, axis: int) -> None:
    """Shuffle an array along an axis."""
    plain = x.view(type=np.ndarray)
    if not plain.flags.writeable:
        raise ValueError("x is read-only")
    if plain.ndim == 0:
        raise TypeError("x must have at least one dimension")
    if not -plain.ndim <= axis < plain.ndim:
        raise ValueError(f"axis {axis} is not one of the {plain.ndim} of x")
    is_number = plain.dtype.kind in "iufc" and plain.dtype.itemsize in (1, 2, 4, 8, 16)
    # A subclass may keep more than numbers, such as the mask of a masked array.
    if is_number and plain.ndim == 1 and plain.flags.c_contiguous and type(x) is np.ndarray:
        native.shuffle(plain)
        return
    rows = np.moveaxis(x, axis, 0)
    order = np.arange(len(rows), dtype=np.int64)
    native.shuffle(order)
    # The right side is a copy. NumPy moves objects, records and dates with their owners counted.
    rows[...] = rows[order]
