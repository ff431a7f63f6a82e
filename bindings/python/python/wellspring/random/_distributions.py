"""The distributions of `Elements`: a method for each line of the table `wellspring._native.distributions`.

Parameters, bounds and types are in the table. The methods check and draw from it, and `described` writes the sections on
parameters of their documentation. The types are in `_distributions.pyi`, which `bindings/python/stubs.py` makes of the table.
"""

from __future__ import annotations

import math

from wellspring import _native
from wellspring.random._arguments import (
    block,
    checked_bound,
    checked_count,
    checked_first,
    checked_integer,
    checked_matrix,
    checked_number,
    checked_numbers,
    checked_shape,
    into,
    numpy_for,
)
from wellspring.random._columns import (
    columns_of,
    counts_of,
    dimensions,
    ends_of,
    is_array,
    numbers_of,
    rows_of,
    vectors_of,
    whole_shape,
)

# How many dimensions a parameter has for one element.
_DIMENSIONS = {"float": 0, "int": 0, "vector": 1, "matrix": 2}
_CHECKS = {"float": checked_number, "int": checked_count, "vector": checked_numbers, "matrix": checked_matrix}


class _Line:
    """A line of the table: what a call looks at."""

    def __init__(self, distribution):
        self.distribution = distribution
        self.dtypes = tuple(distribution.dtypes)
        self.takes_arrays = distribution.takes_columns
        # The parameter that says how many numbers a row has.
        self.row = distribution.row
        self.dimensions = [_DIMENSIONS[own.kind] for own in distribution.parameters]
        # In the order of `draw`. Bounds are looked at where numbers are made.
        self.checks = [
            (checked_bound if own.has_high and own.high == math.inf else _CHECKS[own.kind], own.name)
            for own in distribution.parameters
        ]


TABLE = {name: _Line(distribution) for name, distribution in _native.distributions().items()}

# What methods say of the arguments that are not parameters of their distribution.
_COMMON = {
    "size": "int or tuple of ints, optional\n    The shape. Without it, and without out, {one} is returned{arrays}.",
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
_SEVERAL = {
    "float": " or array of floats",
    "int": " or array of ints",
    "vector": ", or array with one in its last dimension",
    "matrix": ", or array with one in its last two dimensions",
}


def _bounds(parameter):
    """Return the bounds of a parameter in words."""
    low, high = parameter.low, parameter.high
    if low == -math.inf and parameter.kind == "int":
        return "Any number that the dtype has."
    if low == -math.inf:
        return "Also infinite." if parameter.has_low else "Finite."
    text = f"{'From' if parameter.has_low else 'Above'} {low:g}"
    if high >= 1 << 63:
        return f"{text} on." if parameter.has_low else f"{text}."
    end = f" to {high:g}" if parameter.has_low else f", at most {high:g}"
    return f"{text}{end}." if parameter.has_high else f"{text}, below {high:g}."


def described(method):
    """Put the sections on parameters, on what is returned and on errors into the documentation, before its examples."""
    if method.__doc__ is None:
        return method
    line = TABLE[method.__name__]
    dtypes, row = line.dtypes, line.row
    own = {parameter.name: parameter for parameter in line.distribution.parameters}
    # Not the length of all rows.
    several = {parameter.name for i, parameter in enumerate(own.values()) if row != i or line.dimensions[i]}
    several = several if line.takes_arrays or row is not None or method.__name__ == "integers" else set()
    text = {"one": "one number", "element": "element", "dtypes": ", ".join(map(repr, dtypes))}
    text["arrays"] = ", or as many as the parameters have together" if several else ""
    returned = f"{'float' if dtypes[0] == 'float64' else 'int'}, or array of {dtypes[0] if len(dtypes) == 1 else 'the dtype'}"
    if row is not None:
        text.update(one="one row", element="row")
        returned = f"array of {dtypes[0]}, whose last dimension is a row"
    code = method.__code__
    lines = ["", "Parameters", "----------"]
    for name in code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]:
        if name in own:
            kind, default = _KINDS[own[name].kind], own[name].default
            kind += _SEVERAL[own[name].kind] if name in several else ""
            lines.append(f"{name} : {kind}" + ("" if default is None else f", default {default:g}"))
            lines.append("    " + _bounds(own[name]))
        else:
            lines.append(f"{name} : {_COMMON[name].format(**text)}")
    lines += ["", "Returns", "-------", returned, "", *_RAISED, "", "Examples\n"]
    # Up to Python 3.12 a documentation is indented as the source is.
    summary, _, examples = method.__doc__.replace("\n        ", "\n").partition("\nExamples\n")
    method.__doc__ = summary + "\n".join(lines) + examples
    return method


class Distributions:
    """The methods of `Elements` that are in the table."""

    __slots__ = ()

    # ---- uniform, normal, exponential: float64 or float32 ----

    @described
    def random(self, size=None, dtype=None, out=None, *, first=0, at=None, of=None):
        """Return uniform numbers in [0, 1): 0 can come, 1 cannot.

        Examples
        --------
        >>> Elements(2026).random(3).round(3).tolist()
        [0.364, 0.167, 0.59]
        """
        return self._draw("random", (), size, dtype, out, first, at, of)

    @described
    def uniform(self, low=0.0, high=1.0, size=None, dtype=None, out=None, *, first=0, at=None, of=None):
        """Return low + (high - low) * u, u uniform in [0, 1). Rounding can give high, as in NumPy.

        high must not be below low. `OverflowError` says that high - low is not finite.

        Examples
        --------
        >>> Elements(2026).uniform(-1, 1, 3).round(3).tolist()
        [-0.273, -0.665, 0.18]
        """
        return self._draw("uniform", (low, high), size, dtype, out, first, at, of)

    @described
    def standard_normal(self, size=None, dtype=None, out=None, *, first=0, at=None, of=None):
        """Return normal numbers with mean 0 and variance 1.

        Examples
        --------
        >>> Elements(2026).standard_normal((2, 2)).round(3).tolist()
        [[-0.447, 0.324], [0.314, 1.219]]
        """
        return self._draw("standard_normal", (), size, dtype, out, first, at, of)

    @described
    def normal(self, loc=0.0, scale=1.0, size=None, dtype=None, out=None, *, first=0, at=None, of=None):
        """Return normal numbers with the mean loc and the standard deviation scale.

        Examples
        --------
        >>> Elements(2026).normal(100, 15, 3).round(1).tolist()
        [93.3, 104.9, 104.7]
        """
        return self._draw("normal", (loc, scale), size, dtype, out, first, at, of)

    @described
    def standard_exponential(self, size=None, dtype=None, out=None, *, first=0, at=None, of=None):
        """Return exponential numbers with the mean 1: the same as ``exponential(1.0)``.

        Examples
        --------
        >>> Elements(2026).standard_exponential(3).round(3).tolist()
        [0.337, 4.414, 0.779]
        """
        return self._draw("standard_exponential", (), size, dtype, out, first, at, of)

    @described
    def exponential(self, scale=1.0, size=None, dtype=None, out=None, *, first=0, at=None, of=None):
        """Return exponential numbers with the mean scale.

        Examples
        --------
        >>> Elements(2026).exponential(2.0, 3).round(3).tolist()
        [0.675, 8.829, 1.557]
        """
        return self._draw("exponential", (scale,), size, dtype, out, first, at, of)

    # ---- other numbers with a density ----

    @described
    def laplace(self, loc=0.0, scale=1.0, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of the Laplace distribution: exponential on both sides of loc, with the mean distance scale.

        Examples
        --------
        >>> Elements(2026).laplace(0, 2, 3).round(3).tolist()
        [2.4, 1.769, 0.104]
        """
        return self._draw("laplace", (loc, scale), size, None, out, first, at, of)

    @described
    def logistic(self, loc=0.0, scale=1.0, size=None, out=None, *, first=0, at=None, of=None):
        """Return logistic numbers with the mean loc: ``loc + scale * ln(u / (1 - u))``, u uniform.

        Examples
        --------
        >>> Elements(2026).logistic(0, 2, 3).round(3).tolist()
        [-1.644, -1.598, 2.477]
        """
        return self._draw("logistic", (loc, scale), size, None, out, first, at, of)

    @described
    def gumbel(self, loc=0.0, scale=1.0, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of the Gumbel distribution, which the largest of many numbers has: loc is the most likely number.

        Examples
        --------
        >>> Elements(2026).gumbel(0, 2, 3).round(3).tolist()
        [1.052, 2.231, -0.651]
        """
        return self._draw("gumbel", (loc, scale), size, None, out, first, at, of)

    @described
    def lognormal(self, mean=0.0, sigma=1.0, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers whose logarithm is normal with this mean and standard deviation.

        Examples
        --------
        >>> Elements(2026).lognormal(0.0, 0.5, 3).round(3).tolist()
        [1.56, 2.311, 0.695]
        """
        return self._draw("lognormal", (mean, sigma), size, None, out, first, at, of)

    @described
    def truncated_normal(self, low, high, loc=0.0, scale=1.0, size=None, out=None, *, first=0, at=None, of=None):
        """Return normal numbers from low to high, exact in the tails too. low is below high.

        Examples
        --------
        >>> Elements(2026).truncated_normal(3.0, float("inf"), size=3).round(3).tolist()
        [3.127, 3.749, 3.437]
        """
        return self._draw("truncated_normal", (loc, scale, low, high), size, None, out, first, at, of)

    @described
    def weibull(self, a, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of the Weibull distribution with the shape a and the scale 1.

        Examples
        --------
        >>> Elements(2026).weibull(1.5, 3).round(3).tolist()
        [0.636, 2.326, 0.946]
        """
        return self._draw("weibull", (a,), size, None, out, first, at, of)

    @described
    def rayleigh(self, scale=1.0, size=None, out=None, *, first=0, at=None, of=None):
        """Return the lengths of pairs of normal numbers with the standard deviation scale.

        Examples
        --------
        >>> Elements(2026).rayleigh(2, 3).round(3).tolist()
        [2.281, 1.596, 1.61]
        """
        return self._draw("rayleigh", (scale,), size, None, out, first, at, of)

    @described
    def pareto(self, a, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of the Lomax distribution, as NumPy's pareto: above x with the probability (1 + x)**-a.

        Add 1, and multiply by the least value, for the classical Pareto distribution.

        Examples
        --------
        >>> Elements(2026).pareto(3, 3).round(3).tolist()
        [0.556, 0.123, 0.095]
        """
        return self._draw("pareto", (a,), size, None, out, first, at, of)

    @described
    def power(self, a, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers from 0 to 1, below x with the probability x**a.

        Examples
        --------
        >>> Elements(2026).power(3, 3).round(3).tolist()
        [0.806, 0.977, 0.783]
        """
        return self._draw("power", (a,), size, None, out, first, at, of)

    @described
    def triangular(self, left, mode, right, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers from left to right, whose density rises to mode and falls behind it.

        Examples
        --------
        >>> Elements(2026).triangular(-1, 0, 3, 3).round(3).tolist()
        [-0.012, 0.916, 2.32]
        """
        return self._draw("triangular", (left, mode, right), size, None, out, first, at, of)

    @described
    def vonmises(self, mu, kappa, size=None, out=None, *, first=0, at=None, of=None):
        """Return angles from -pi to pi around mu: kappa 0 is uniform, and a large one near 1 / kappa in variance.

        Examples
        --------
        >>> Elements(2026).vonmises(0, 4, 3).round(3).tolist()
        [0.113, -1.412, -0.199]
        """
        return self._draw("vonmises", (mu, kappa), size, None, out, first, at, of)

    @described
    def wald(self, mean, scale, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of the Wald or inverse Gaussian distribution, with the variance mean**3 / scale.

        Examples
        --------
        >>> Elements(2026).wald(3, 2, 3).round(3).tolist()
        [7.439, 6.208, 2.106]
        """
        return self._draw("wald", (mean, scale), size, None, out, first, at, of)

    @described
    def standard_cauchy(self, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of the Cauchy distribution around 0 with the scale 1.

        Examples
        --------
        >>> Elements(2026).standard_cauchy(3).round(3).tolist()
        [-16.028, 1.56, -22.065]
        """
        return self._draw("standard_cauchy", (), size, None, out, first, at, of)

    @described
    def standard_gamma(self, shape, size=None, out=None, *, first=0, at=None, of=None):
        """Return gamma numbers with the scale 1: the same as ``gamma(shape)``.

        Examples
        --------
        >>> Elements(2026).standard_gamma(2.5, 3).round(3).tolist()
        [3.558, 1.552, 1.772]
        """
        return self._draw("standard_gamma", (shape,), size, None, out, first, at, of)

    @described
    def gamma(self, shape, scale=1.0, size=None, out=None, *, first=0, at=None, of=None):
        """Return gamma numbers with the mean shape * scale.

        Examples
        --------
        >>> Elements(2026).gamma(2.5, size=3).round(3).tolist()
        [3.558, 1.552, 1.772]
        """
        return self._draw("gamma", (shape, scale), size, None, out, first, at, of)

    @described
    def chisquare(self, df, size=None, out=None, *, first=0, at=None, of=None):
        """Return chi-square numbers with df degrees of freedom: the same as gamma(df / 2, 2).

        Examples
        --------
        >>> Elements(2026).chisquare(3, 3).round(3).tolist()
        [4.503, 1.466, 1.768]
        """
        return self._draw("chisquare", (df,), size, None, out, first, at, of)

    @described
    def noncentral_chisquare(self, df, nonc, size=None, out=None, *, first=0, at=None, of=None):
        """Return the sum of the squares of df normal numbers, the squares of whose means have the sum nonc.

        Examples
        --------
        >>> Elements(2026).noncentral_chisquare(3, 20, 3).round(3).tolist()
        [30.782, 21.766, 29.46]
        """
        return self._draw("noncentral_chisquare", (df, nonc), size, None, out, first, at, of)

    @described
    def beta(self, a, b, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers from 0 to 1 with the mean a / (a + b).

        Examples
        --------
        >>> Elements(2026).beta(2, 5, 3).round(3).tolist()
        [0.559, 0.138, 0.302]
        """
        return self._draw("beta", (a, b), size, None, out, first, at, of)

    @described
    def f(self, dfnum, dfden, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of the F distribution with dfnum and dfden degrees of freedom.

        Examples
        --------
        >>> Elements(2026).f(2, 48, 3).round(3).tolist()
        [0.094, 0.112, 0.634]
        """
        return self._draw("f", (dfnum, dfden), size, None, out, first, at, of)

    @described
    def noncentral_f(self, dfnum, dfden, nonc, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of the F distribution whose numerator is noncentral: see `noncentral_chisquare`.

        Examples
        --------
        >>> Elements(2026).noncentral_f(3, 20, 3, 3).round(3).tolist()
        [0.893, 0.751, 1.885]
        """
        return self._draw("noncentral_f", (dfnum, dfden, nonc), size, None, out, first, at, of)

    @described
    def standard_t(self, df, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of Student's t distribution with df degrees of freedom.

        Examples
        --------
        >>> Elements(2026).standard_t(4, 3).round(3).tolist()
        [2.913, -1.461, 0.51]
        """
        return self._draw("standard_t", (df,), size, None, out, first, at, of)

    # ---- counts: int64 ----

    @described
    def geometric(self, p, size=None, out=None, *, first=0, at=None, of=None):
        """Return how many trials it takes to the first success, which is counted too. Each succeeds with the probability p.

        Examples
        --------
        >>> Elements(2026).geometric(0.2, 5).tolist()
        [11, 6, 11, 2, 15]
        """
        return self._draw("geometric", (p,), size, None, out, first, at, of)

    @described
    def binomial(self, n, p, size=None, out=None, *, first=0, at=None, of=None):
        """Return how many of n trials succeed, each with the probability p. Counts above 2**53 are rounded to floats.

        Examples
        --------
        >>> Elements(2026).binomial(100, 0.3, 5).tolist()
        [28, 31, 29, 19, 40]
        """
        return self._draw("binomial", (n, p), size, None, out, first, at, of)

    @described
    def negative_binomial(self, n, p, size=None, out=None, *, first=0, at=None, of=None):
        """Return how many trials fail before n succeed, each with the probability p. n need not be an integer.

        Examples
        --------
        >>> Elements(2026).negative_binomial(5, 0.3, 5).tolist()
        [9, 17, 13, 6, 7]
        """
        return self._draw("negative_binomial", (n, p), size, None, out, first, at, of)

    @described
    def hypergeometric(self, ngood, nbad, nsample, size=None, out=None, *, first=0, at=None, of=None):
        """Return how many of nsample balls are good, drawn from ngood good and nbad bad ones without replacement.

        Examples
        --------
        >>> Elements(2026).hypergeometric(100, 2, 10, 5).tolist()
        [9, 10, 9, 10, 10]
        """
        return self._draw("hypergeometric", (ngood, nbad, nsample), size, None, out, first, at, of)

    @described
    def logseries(self, p, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of the logarithmic series: k, from 1 on, in proportion to p**k / k.

        Examples
        --------
        >>> Elements(2026).logseries(0.9, 5).tolist()
        [3, 3, 1, 6, 19]
        """
        return self._draw("logseries", (p,), size, None, out, first, at, of)

    @described
    def zipf(self, a, size=None, out=None, *, first=0, at=None, of=None):
        """Return numbers of the Zipf distribution: k, from 1 to 2**63 - 1, in proportion to k**-a.

        Examples
        --------
        >>> Elements(2026).zipf(2.0, 5).tolist()
        [1, 1, 1, 2, 2]
        """
        return self._draw("zipf", (a,), size, None, out, first, at, of)

    @described
    def poisson(self, lam=1.0, size=None, out=None, *, first=0, at=None, of=None):
        """Return Poisson numbers with the mean lam. Counts above 2**53 are rounded to floats.

        Examples
        --------
        >>> Elements(2026).poisson(4.0, 5).tolist()
        [0, 1, 6, 1, 5]
        """
        return self._draw("poisson", (lam,), size, None, out, first, at, of)

    @described
    def integers(
        self, low, high=None, size=None, dtype=None, endpoint=False, out=None, *, first=0, at=None, of=None
    ):
        """Return integers from low to high, without high unless endpoint is true; from 0 to low if high is None.

        All have exactly the same probability. Both ends must be integers of the dtype.

        Examples
        --------
        >>> Elements(2026).integers(1, 6, 8, endpoint=True).tolist()
        [3, 4, 5, 4, 5, 3, 6, 4]
        >>> Elements(2026).integers([10, 20, 30, 1000]).tolist()
        [3, 10, 20, 565]
        """
        if is_array(low) or is_array(high):
            low, high = (0, low) if high is None else (low, high)
            return self._integers_of_ranges(low, high, size, dtype, endpoint, out, first, at, of)
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

        def make(target, shape):
            self._native.integers(target, block(shape, first, at, of), (start, last), self._thread_count())

        return into(make, size, dtype, out, TABLE["integers"].dtypes)

    def _integers_of_ranges(self, low, high, size, dtype, endpoint, out, first, at, of):
        np = numpy_for("a parameter that is an array")
        shape = whole_shape((low, high), size, out)
        is_array_of_numpy = isinstance(out, np.ndarray)
        kind = np.dtype(out.dtype if is_array_of_numpy else memoryview(out).format if out is not None else dtype or "int64")
        if kind.name not in TABLE["integers"].dtypes:
            raise TypeError(f"dtype {kind} is not one of {', '.join(TABLE['integers'].dtypes)}")
        low, _ = ends_of(low, "low", kind, past=False)
        high, is_past = ends_of(high, "high", kind, past=not endpoint)
        (low, high), places = columns_of((low, high), shape)

        def make(target, shape):
            where = block(shape, first, at, of)
            kept = out is not None
            self._native.integers_each(low, high, not is_past, places, kept, target, where, self._thread_count())

        return into(make, None if out is not None and size is None else shape, dtype, out, TABLE["integers"].dtypes)

    # ---- rows: `first` counts rows, and there are no blocks ----

    @described
    def subsets(self, n, k, size=None, out=None, *, first=0):
        """Return rows of k of the numbers 0 to n - 1, in random order; with k = n orders of n numbers.

        Examples
        --------
        >>> Elements(2026).subsets(49, 6, 2).tolist()
        [[47, 12, 24, 16, 44, 19], [17, 25, 13, 14, 40, 22]]
        """
        return self._draw("subsets", (n, k), size, None, out, first)

    @described
    def dirichlet(self, alpha, size=None, out=None, *, first=0):
        """Return rows of numbers from 0 to 1 whose sum is 1: number j is on average alpha[j] of the sum of alpha.

        Examples
        --------
        >>> Elements(2026).dirichlet([1.0, 2.0, 5.0], 2).round(3).tolist()
        [[0.237, 0.214, 0.549], [0.368, 0.215, 0.417]]
        """
        return self._draw("dirichlet", (alpha,), size, None, out, first)

    @described
    def multinomial(self, n, pvals, size=None, out=None, *, first=0):
        """Return rows of counts: how often each result comes in n trials. The last probability is what the others leave to 1.

        Examples
        --------
        >>> Elements(2026).multinomial(20, [0.2, 0.3, 0.5], 2).tolist()
        [[4, 7, 9], [4, 4, 12]]
        """
        return self._draw("multinomial", (n, pvals), size, None, out, first)

    @described
    def multivariate_hypergeometric(self, colors, nsample, size=None, out=None, *, first=0):
        """Return rows of counts: how many of nsample balls have each color, drawn from so many without replacement.

        The sum of colors is at most 10**9.

        Examples
        --------
        >>> Elements(2026).multivariate_hypergeometric([16, 8, 4], 6, 2).tolist()
        [[4, 2, 0], [2, 2, 2]]
        """
        return self._draw("multivariate_hypergeometric", (colors, nsample), size, None, out, first)

    @described
    def multivariate_normal(self, mean, cov, size=None, out=None, *, first=0):
        """Return rows of normal numbers with this mean and covariance, by Cholesky's factor.

        cov is symmetric, and has no eigenvalue below 0, within 1e-8 of its largest variance.

        Examples
        --------
        >>> Elements(2026).multivariate_normal([0, 10], [[2, 1], [1, 3]], 2).round(3).tolist()
        [[1.68, 12.518], [-1.735, 9.713]]
        """
        return self._draw("multivariate_normal", (mean, cov), size, None, out, first)

    @described
    def sphere(self, dimensions, size=None, out=None, *, first=0):
        """Return rows of numbers: points on the sphere with the radius 1 in `dimensions` dimensions.

        Examples
        --------
        >>> Elements(2026).sphere(3, 2).round(3).tolist()
        [[-0.198, -0.108, 0.974], [-0.9, -0.14, 0.414]]
        """
        return self._draw("sphere", (dimensions,), size, None, out, first)

    @described
    def sobol(self, dimensions, size=None, out=None, *, scramble=True, first=0):
        """Return points of Sobol's sequence, in [0, 1) in each dimension.

        Take 2**k points from a multiple of 2**k on. Without scrambling they are the points of `scipy.stats.qmc.Sobol`.

        Examples
        --------
        >>> Elements(2026).sobol(2, 4, scramble=False).tolist()
        [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
        """
        count = checked_count(dimensions, "dimensions")

        def make(target, _, start):
            self._native.sobol(count, bool(scramble), target, start, self._thread_count())

        return _rows(make, count, ("float64",), size, out, first)

    @described
    def halton(self, dimensions, size=None, out=None, *, scramble=True, first=0):
        """Return points of Halton's sequence, in [0, 1) in each dimension.

        Without scrambling they are the points of `scipy.stats.qmc.Halton`.

        Examples
        --------
        >>> Elements(2026).halton(2, 3, scramble=False).round(3).tolist()
        [[0.0, 0.0], [0.5, 0.333], [0.25, 0.667]]
        """
        count = checked_count(dimensions, "dimensions")

        def make(target, _, start):
            self._native.halton(count, bool(scramble), target, start, self._thread_count())

        return _rows(make, count, ("float64",), size, out, first)

    # ---- one call of any method ----

    def _draw(self, name, given, size, dtype, out, first, at=None, of=None):
        """Return elements of a distribution with these parameters, in their order in the table."""
        line = TABLE[name]
        if line.takes_arrays:
            for value in given:
                if is_array(value):
                    return self._draw_each(line, given, size, dtype, out, first, at, of)
        if line.row is not None and any(dimensions(value) > own for value, own in zip(given, line.dimensions, strict=True)):
            return self._draw_rows(line, given, size, out, first)
        values = [check(value, name) for (check, name), value in zip(line.checks, given, strict=True)]
        if line.row is not None:
            width = values[line.row] if isinstance(values[line.row], int) else len(values[line.row])

            def make_rows(target, _, start):
                self._native.draw(line.distribution, values, target, (start, []), self._thread_count())

            return _rows(make_rows, width, line.dtypes, size, out, first)

        def make(target, shape):
            self._native.draw(line.distribution, values, target, block(shape, first, at, of), self._thread_count())

        return into(make, size, dtype, out, line.dtypes)

    def _draw_each(self, line, given, size, dtype, out, first, at, of):
        """Return elements whose parameters differ. Each is the number of a call with its own parameters."""
        shape = whole_shape(given, size, out)
        arrays = []
        for (check, name), value in zip(line.checks, given, strict=True):
            # A single number has the checks and the errors of a call without arrays.
            value = value if is_array(value) else check(value, name)
            arrays.append(counts_of(value, name) if check is checked_count else numbers_of(value, name))
        columns, places = columns_of(arrays, shape)

        def make(target, shape):
            where = block(shape, first, at, of)
            kept = out is not None
            self._native.draw_each(line.distribution, columns, places, kept, target, where, self._thread_count())

        return into(make, None if out is not None and size is None else shape, dtype, out, line.dtypes)

    def _draw_rows(self, line, given, size, out, first):
        """Return rows whose parameters differ. Each is the row of a call with its own parameters."""
        np = numpy_for("a parameter that is an array")
        arrays = []
        for (check, name), value, count in zip(line.checks, given, line.dimensions, strict=True):
            if count:
                arrays.append(vectors_of(value, name, count))
            elif not is_array(value):
                arrays.append(np.array(check(value, name), np.int64))
            elif len(arrays) == line.row:
                raise TypeError(f"{name} must be one integer, the length of all rows: make a call for each length")
            else:
                arrays.append(counts_of(value, name))
                if arrays[-1].dtype != np.int64:
                    raise ValueError(f"{name} must be below 2**63")
        width = arrays[line.row].shape[-1] if line.dimensions[line.row] else int(arrays[line.row])
        outer = [np.empty(array.shape[: array.ndim - count]) for array, count in zip(arrays, line.dimensions, strict=True)]

        def make(target, shape, start):
            columns = rows_of(arrays, line.dimensions, whole_shape(outer, shape[:-1], None))
            # A refused call leaves an out as it was.
            made = target if out is None else np.empty(math.prod(shape), line.dtypes[0])
            self._native.draw_rows(line.distribution, columns, made, width, start, self._thread_count())
            if out is not None:
                np.asarray(target).reshape(-1)[...] = made

        return _rows(make, width, line.dtypes, whole_shape(outer, size, None) if out is None else size, out, first)


def _rows(make, width, dtypes, size, out, first):
    """Return rows of so many numbers; one row, if neither size nor out is given."""

    def checked(target, shape):
        if shape[-1:] != (width,):
            raise ValueError(f"out must have rows of {width} numbers")
        make(target, shape, checked_first(first))

    if size is not None:
        size = (*checked_shape(size, "size"), width)
    elif out is None:
        size = width
    return into(checked, size, None, out, dtypes)
