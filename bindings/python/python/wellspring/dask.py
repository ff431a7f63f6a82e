"""Arrays of Dask whose numbers do not depend on their chunks.

Element (i, j, ..) of an array depends on the seed, the path and its place in the whole array. Another cut into chunks, a
lost worker, a task that runs twice, another number of machines: the array is the same, and `wellspring.random.Elements`
gives the same array.

    >>> from wellspring.dask import Elements
    >>> x = Elements(2026, "3/0").standard_normal((100_000, 1000), chunks=(10_000, 500))

For chunks with the whole last dimension the numbers of a chunk are consecutive, which is the fastest cut.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

try:
    import dask.array
    import numpy as np
    from dask.base import tokenize
except ModuleNotFoundError as _missing:
    raise ImportError("wellspring.dask needs Dask: pip install 'dask[array]'") from _missing

from wellspring.random import Elements as Arrays
from wellspring.random._arguments import Path, checked_shape
from wellspring.random._columns import is_array

__all__ = ["Elements"]

# Not all of Dask has types.
da: Any = dask.array


def _in_chunks(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method of `wellspring.random.Elements` for an array that is made in chunks."""
    plain = inspect.signature(method)
    kept = [plain.parameters[name] for name in plain.parameters if name not in ("out", "first", "at", "of")]
    chunks = inspect.Parameter("chunks", inspect.Parameter.KEYWORD_ONLY, default="auto", annotation=Any)
    signature = plain.replace(parameters=[*kept, chunks])

    @functools.wraps(method)
    def made(*arguments: Any, **keywords: Any) -> Any:
        named = signature.bind(*arguments, **keywords).arguments
        elements, chunks = named.pop("self").elements, named.pop("chunks", "auto")
        arrays = {name: da.asarray(named.pop(name)) for name in list(named) if name != "size" and is_array(named[name])}
        size = named.pop("size", None)
        if size is None and arrays:
            size = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        shape = checked_shape(size, "size")
        given = {"elements": elements, "method": method.__name__, "arguments": named, "names": tuple(arrays), "of": shape}
        # A wrong argument is an error here and not on a worker; what is in an array is looked at there.
        nothing = tuple(0 for _ in shape)
        empty = [np.empty((0,) * array.ndim, array.dtype) for array in arrays.values()]
        return _chunked(_made, given, shape, chunks, _block(given, nothing, nothing, empty).dtype, tuple(arrays.values()))

    made.__signature__ = signature  # type: ignore[attr-defined]
    summary = (method.__doc__ or "").partition("\n")[0]
    made.__doc__ = f"{summary}\n\nSee `wellspring.random.Elements`; size is the whole array's, and chunks are as in Dask."
    return made


class Elements:
    """Arrays of Dask, named by an algorithm, a seed and a path: see `wellspring.random.Elements`.

    All methods take the size of the whole array, and its chunks as in every function of Dask.
    """

    def __init__(self, seed: Any = None, path: Path = (), algorithm: str = "chacha8") -> None:
        # Dask has a thread for each core already.
        self._elements = Arrays(seed, path, algorithm, threads=1)

    def __repr__(self) -> str:
        return f"<of Dask: {self._elements!r}>"

    @property
    def elements(self) -> Arrays:
        """The same arrays without Dask."""
        return self._elements

    random = _in_chunks(Arrays.random)
    uniform = _in_chunks(Arrays.uniform)
    standard_normal = _in_chunks(Arrays.standard_normal)
    normal = _in_chunks(Arrays.normal)
    standard_exponential = _in_chunks(Arrays.standard_exponential)
    exponential = _in_chunks(Arrays.exponential)
    integers = _in_chunks(Arrays.integers)
    laplace = _in_chunks(Arrays.laplace)
    logistic = _in_chunks(Arrays.logistic)
    gumbel = _in_chunks(Arrays.gumbel)
    lognormal = _in_chunks(Arrays.lognormal)
    truncated_normal = _in_chunks(Arrays.truncated_normal)
    weibull = _in_chunks(Arrays.weibull)
    rayleigh = _in_chunks(Arrays.rayleigh)
    pareto = _in_chunks(Arrays.pareto)
    power = _in_chunks(Arrays.power)
    triangular = _in_chunks(Arrays.triangular)
    vonmises = _in_chunks(Arrays.vonmises)
    wald = _in_chunks(Arrays.wald)
    standard_cauchy = _in_chunks(Arrays.standard_cauchy)
    standard_gamma = _in_chunks(Arrays.standard_gamma)
    gamma = _in_chunks(Arrays.gamma)
    chisquare = _in_chunks(Arrays.chisquare)
    noncentral_chisquare = _in_chunks(Arrays.noncentral_chisquare)
    beta = _in_chunks(Arrays.beta)
    f = _in_chunks(Arrays.f)
    noncentral_f = _in_chunks(Arrays.noncentral_f)
    standard_t = _in_chunks(Arrays.standard_t)
    geometric = _in_chunks(Arrays.geometric)
    binomial = _in_chunks(Arrays.binomial)
    negative_binomial = _in_chunks(Arrays.negative_binomial)
    hypergeometric = _in_chunks(Arrays.hypergeometric)
    logseries = _in_chunks(Arrays.logseries)
    zipf = _in_chunks(Arrays.zipf)
    poisson = _in_chunks(Arrays.poisson)

    def permutation(self, n: int, *, chunks: Any = "auto") -> Any:
        """Return the numbers 0 to n - 1 in random order as int64. No chunk needs another chunk."""
        (length,) = checked_shape(n, "n")
        return _chunked(_permuted, {"elements": self._elements, "n": length}, (length,), chunks, np.dtype("int64"))


def _chunked(
    make: Any, given: dict[str, Any], shape: tuple[int, ...], chunks: Any, dtype: np.dtype[Any], arrays: Any = ()
) -> Any:
    normal = da.core.normalize_chunks(chunks, shape, dtype=dtype)
    if not shape:
        raise ValueError("size must have at least one dimension")
    # The name says what is in the array, so that Dask computes the same array once.
    name = f"wellspring-{tokenize(make.__name__, given, normal, arrays)}"
    # Each chunk gets its part of the parameters that are arrays.
    parts = [da.broadcast_to(array, shape).rechunk(normal) for array in arrays]
    return da.map_blocks(make, given, *parts, chunks=normal, dtype=dtype, meta=np.empty((0,) * len(shape), dtype), name=name)


def _place(block_info: Any) -> list[tuple[int, int]]:
    """Where the chunk begins and ends, for each dimension."""
    location: list[tuple[int, int]] = block_info[None]["array-location"]
    return location


def _made(given: dict[str, Any], *parts: Any, block_info: Any = None) -> Any:
    place = _place(block_info)
    return _block(given, tuple(begin for begin, _ in place), tuple(end - begin for begin, end in place), parts)


def _permuted(given: dict[str, Any], block_info: Any = None) -> Any:
    ((begin, end),) = _place(block_info)
    return given["elements"].permutation(given["n"], end - begin, first=begin)


def _block(given: dict[str, Any], at: tuple[int, ...], shape: tuple[int, ...], parts: Any) -> Any:
    method = getattr(given["elements"], given["method"])
    arrays = dict(zip(given["names"], parts, strict=True))
    return method(**given["arguments"], **arrays, size=shape, at=at, of=given["of"])
