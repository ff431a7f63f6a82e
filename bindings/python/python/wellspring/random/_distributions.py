"""Distributions with parameters, whose element i depends on the name of the array and on i alone."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from wellspring._native import Elements as _Native
from wellspring.random._blocks import (
    Shape,
    block,
    checked_first,
    checked_integer,
    checked_number,
    checked_shape,
    into,
    numpy_for,
)

Size = int | Iterable[int] | None
Indices = Iterable[int] | None

_LARGEST = (1 << 63) - 1


class Distributions:
    """The methods of `Elements` for distributions with parameters: single numbers, and no arrays of them.

    Numbers of the same distribution with other parameters come from the same words: take another path for each array.
    """

    __slots__ = ()

    _native: _Native

    def _thread_count(self) -> int:
        raise NotImplementedError

    def lognormal(
        self,
        mean: float = 0.0,
        sigma: float = 1.0,
        size: Size = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Indices = None,
        of: Indices = None,
    ) -> Any:
        """Return numbers whose logarithm is normal with this mean and standard deviation."""
        return self._floats_of("lognormal", {"mean": mean, "sigma": sigma}, size, out, first, at, of)

    def weibull(
        self, a: float, size: Size = None, out: Any = None, *, first: int = 0, at: Indices = None, of: Indices = None
    ) -> Any:
        """Return numbers of the Weibull distribution with the shape a and the scale 1."""
        return self._floats_of("weibull", {"a": a}, size, out, first, at, of)

    def standard_cauchy(
        self, size: Size = None, out: Any = None, *, first: int = 0, at: Indices = None, of: Indices = None
    ) -> Any:
        """Return numbers of the Cauchy distribution."""
        return self._floats_of("cauchy", {}, size, out, first, at, of)

    def gamma(
        self,
        shape: float,
        scale: float = 1.0,
        size: Size = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Indices = None,
        of: Indices = None,
    ) -> Any:
        """Return gamma numbers with the mean shape * scale."""
        return self._floats_of("gamma", {"shape": shape, "scale": scale}, size, out, first, at, of)

    def chisquare(
        self, df: float, size: Size = None, out: Any = None, *, first: int = 0, at: Indices = None, of: Indices = None
    ) -> Any:
        """Return chi-square numbers: those of gamma(df / 2, 2)."""
        return self._floats_of("chisquare", {"df": df}, size, out, first, at, of)

    def beta(
        self,
        a: float,
        b: float,
        size: Size = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Indices = None,
        of: Indices = None,
    ) -> Any:
        """Return numbers from 0 to 1 with the mean a / (a + b)."""
        return self._floats_of("beta", {"a": a, "b": b}, size, out, first, at, of)

    def standard_t(
        self, df: float, size: Size = None, out: Any = None, *, first: int = 0, at: Indices = None, of: Indices = None
    ) -> Any:
        """Return numbers of Student's t distribution."""
        return self._floats_of("t", {"df": df}, size, out, first, at, of)

    def truncated_normal(
        self,
        low: float,
        high: float,
        loc: float = 0.0,
        scale: float = 1.0,
        size: Size = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Indices = None,
        of: Indices = None,
    ) -> Any:
        """Return those normal numbers that lie from low to high, either of which may be infinite; exact in the tails too."""
        bounds = [_bound(low, "low"), _bound(high, "high")]
        parameters = [checked_number(loc, "loc"), checked_number(scale, "scale"), *bounds]
        return self._drawn("truncated", [], parameters, "float64", size, out, first, at, of)

    def geometric(
        self, p: float, size: Size = None, out: Any = None, *, first: int = 0, at: Indices = None, of: Indices = None
    ) -> Any:
        """Return the trials to the first success, that one included."""
        return self._counts_of("geometric", [], [_probability(p, "p")], size, out, first, at, of)

    def binomial(
        self,
        n: int,
        p: float,
        size: Size = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Indices = None,
        of: Indices = None,
    ) -> Any:
        """Return how many of n trials succeed."""
        return self._counts_of("binomial", [_count(n, "n")], [_probability(p, "p")], size, out, first, at, of)

    def poisson(
        self,
        lam: float = 1.0,
        size: Size = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Indices = None,
        of: Indices = None,
    ) -> Any:
        """Return Poisson numbers with the mean lam."""
        return self._counts_of("poisson", [], [checked_number(lam, "lam")], size, out, first, at, of)

    def choice(
        self, a: Any, size: Size = None, replace: bool = True, p: Iterable[float] | None = None, *, first: int = 0
    ) -> Any:
        """Return elements of a, or integers below a, with the probabilities p or with the same one each.

        Without replacement they are the first of `permutation`, and with p too those with the least
        ``exponential(size=len(p)) / p`` (Efraimidis and Spirakis, 2006), which have no first but 0.
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
        weights = None if p is None else _weights(p, count)
        indices = self._indices(np, count, math.prod(shape), replace, weights, first).reshape(shape)
        if size is None:
            return int(indices) if population is None else population[int(indices)]
        return indices if population is None else population[indices]

    def _indices(
        self, np: Any, count: int, length: int, replace: bool, weights: list[float] | None, first: int
    ) -> Any:
        if replace and weights is None:
            return self.integers(count, size=length, first=first)  # type: ignore[attr-defined]
        if replace:
            return self._drawn("choice", [], weights or [], "int64", length, None, first, None, None)
        if checked_first(first) + length > count:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        if weights is None:
            return self.permutation(count, length, first=first)  # type: ignore[attr-defined]
        if first != 0:
            raise ValueError("first goes with replacement, or without p")
        if sum(weight > 0 for weight in weights) < length:
            raise ValueError("Fewer non-zero entries in p than size")
        with np.errstate(divide="ignore", invalid="ignore"):
            keys = self.exponential(size=count) / np.array(weights)  # type: ignore[attr-defined]
        keys[np.array(weights) == 0] = np.inf
        return np.argsort(keys, kind="stable")[:length]

    def subsets(self, n: int, k: int, size: Size = None, out: Any = None, *, first: int = 0) -> Any:
        """Return rows of k of the numbers 0 to n - 1, in random order; with k = n orders of n numbers."""
        integers = [_count(n, "n"), _count(k, "k")]
        return self._rows("subsets", integers, [], integers[1], "int64", size, out, first)

    def dirichlet(self, alpha: Iterable[float], size: Size = None, out: Any = None, *, first: int = 0) -> Any:
        """Return rows of numbers from 0 to 1 whose sum is 1: number j is on average alpha[j] of the sum."""
        parts = _numbers(alpha, "alpha")
        return self._rows("dirichlet", [], parts, len(parts), "float64", size, out, first)

    def multinomial(
        self, n: int, pvals: Iterable[float], size: Size = None, out: Any = None, *, first: int = 0
    ) -> Any:
        """Return rows of counts: how often each result comes in n trials. The last one has what is left to 1."""
        parts = _numbers(pvals, "pvals")
        return self._rows("multinomial", [_count(n, "n")], parts, len(parts), "int64", size, out, first)

    def multivariate_normal(
        self,
        mean: Iterable[float],
        cov: Iterable[Iterable[float]],
        size: Size = None,
        out: Any = None,
        *,
        first: int = 0,
    ) -> Any:
        """Return rows of normal numbers with this mean and covariance, by Cholesky's factor."""
        center = _numbers(mean, "mean")
        rows = [_numbers(row, "cov") for row in cov]
        if len(rows) != len(center) or any(len(row) != len(center) for row in rows):
            raise ValueError("mean and cov must have same length")
        parameters = center + [number for row in rows for number in row]
        return self._rows("multivariate_normal", [len(center)], parameters, len(center), "float64", size, out, first)

    def sphere(self, dimensions: int, size: Size = None, out: Any = None, *, first: int = 0) -> Any:
        """Return rows of numbers: points on the sphere with the radius 1 in so many dimensions."""
        count = _count(dimensions, "dimensions")
        return self._rows("sphere", [count], [], count, "float64", size, out, first)

    def sobol(
        self, dimensions: int, size: Size = None, out: Any = None, *, scramble: bool = True, first: int = 0
    ) -> Any:
        """Return points of Sobol's sequence in up to 256 dimensions, scrambled by this name.

        Without scrambling they are those of `scipy.stats.qmc.Sobol`. Take 2^k points from a multiple of 2^k on.
        """
        return self._points("sobol", dimensions, size, out, scramble, first)

    def halton(
        self, dimensions: int, size: Size = None, out: Any = None, *, scramble: bool = True, first: int = 0
    ) -> Any:
        """Return points of Halton's sequence in up to 256 dimensions, scrambled by this name.

        Without scrambling they are those of `scipy.stats.qmc.Halton`.
        """
        return self._points("halton", dimensions, size, out, scramble, first)

    def _points(self, sequence: str, dimensions: int, size: Size, out: Any, scramble: bool, first: int) -> Any:
        count = _count(dimensions, "dimensions")

        def make(target: Any, shape: Shape) -> None:
            _check_row(shape, count)
            self._native.points(sequence, count, bool(scramble), target, checked_first(first), self._thread_count())

        return into(make, _row_shape(size, count, out), "float64", out, "float", ("float64",))

    def _floats_of(
        self, distribution: str, parameters: dict[str, Any], size: Size, out: Any, first: int, at: Any, of: Any
    ) -> Any:
        numbers = [checked_number(value, name) for name, value in parameters.items()]
        return self._drawn(distribution, [], numbers, "float64", size, out, first, at, of)

    def _counts_of(
        self,
        distribution: str,
        integers: list[int],
        floats: list[float],
        size: Size,
        out: Any,
        first: int,
        at: Any,
        of: Any,
    ) -> Any:
        return self._drawn(distribution, integers, floats, "int64", size, out, first, at, of)

    def _drawn(
        self,
        distribution: str,
        integers: list[int],
        floats: list[float],
        dtype: str,
        size: Size,
        out: Any,
        first: int,
        at: Any,
        of: Any,
    ) -> Any:
        def make(target: Any, shape: Shape) -> None:
            start = block(shape, first, at, of)
            self._native.draw(distribution, (integers, floats), target, start, self._thread_count())

        return into(make, size, None, out, "float" if dtype == "float64" else "int", (dtype,))

    def _rows(
        self,
        distribution: str,
        integers: list[int],
        floats: list[float],
        width: int,
        dtype: str,
        size: Size,
        out: Any,
        first: int,
    ) -> Any:
        def make(target: Any, shape: Shape) -> None:
            _check_row(shape, width)
            start = checked_first(first), list[tuple[int, int]]()
            self._native.draw(distribution, (integers, floats), target, start, self._thread_count())

        return into(make, _row_shape(size, width, out), None, out, "int", (dtype,))


def _row_shape(size: Size, width: int, out: Any) -> Size:
    if size is None:
        return width if out is None else None
    return (*checked_shape(size, "size"), width)


def _check_row(shape: Shape, width: int) -> None:
    if shape[-1:] != (width,):
        raise ValueError(f"out must have rows of {width} numbers")


def _bound(value: Any, name: str) -> float:
    if isinstance(value, float) and math.isinf(value):
        return value
    return checked_number(value, name)


def _probability(value: Any, name: str) -> float:
    """Return a number, and leave it to the distribution to say what is wrong with it."""
    return math.nan if isinstance(value, float) and math.isnan(value) else checked_number(value, name)


def _count(value: Any, name: str) -> int:
    number = checked_integer(value, name)
    if not 0 <= number <= _LARGEST:
        raise ValueError(f"{name} < 0" if number < 0 else f"{name} must be below 2**63")
    return number


def _numbers(values: Any, name: str) -> list[float]:
    if isinstance(values, (str, bytes, bytearray)):
        raise TypeError(f"{name} must be numbers")
    try:
        numbers = list(values)
    except TypeError:
        raise TypeError(f"{name} must be a sequence of numbers") from None
    return [checked_number(number, name) for number in numbers]


def _weights(p: Any, count: int) -> list[float]:
    weights = _numbers(p, "p")
    if len(weights) != count:
        raise ValueError("a and p must have same size")
    if any(weight < 0 for weight in weights):
        raise ValueError("probabilities are not non-negative")
    # As much as NumPy allows.
    if abs(math.fsum(weights) - 1) > 2**-26:
        raise ValueError("probabilities do not sum to 1")
    return weights
