"""Arrays of Dask whose numbers do not depend on their chunks.

Element (i, j, ..) of an array depends on the seed, the path and its place in the whole array. Another cut into chunks, a
lost worker, a task that runs twice, another number of machines: the array is the same, and the same as that of
`wellspring.random.Elements`.

    >>> from wellspring.dask import Elements
    >>> x = Elements(2026, "3/0").standard_normal((100_000, 1000), chunks=(10_000, 500))

For chunks with the whole last dimension the numbers of a chunk are consecutive, which is the fastest cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

try:
    import dask.array
    import numpy as np
    from dask.base import tokenize
except ModuleNotFoundError as missing:
    raise ImportError("wellspring.dask needs Dask: pip install 'dask[array]'") from missing

from wellspring import random
from wellspring.random._blocks import checked_shape
from wellspring.random._names import Path

__all__ = ["Elements"]

# Not all of Dask has types.
da: Any = dask.array


class Elements:
    """Arrays of Dask, named by an algorithm, a seed and a path: see `wellspring.random.Elements`.

    All methods take the size of the whole array, its chunks as in every function of Dask, and the dtype.
    """

    def __init__(self, seed: Any = None, path: Path = (), algorithm: str = "chacha8") -> None:
        # Dask has a thread for each core already.
        self._elements = random.Elements(seed, path, algorithm, threads=1)

    @property
    def elements(self) -> random.Elements:
        """The same arrays without Dask."""
        return self._elements

    def random(self, size: int | Iterable[int], *, chunks: Any = "auto", dtype: Any = "float64") -> Any:
        """Return uniform numbers in [0, 1): 0 can come, 1 cannot."""
        return self._array("random", {}, size, chunks, dtype)

    def uniform(
        self, low: float, high: float, size: int | Iterable[int], *, chunks: Any = "auto", dtype: Any = "float64"
    ) -> Any:
        """Return uniform numbers from low to high."""
        return self._array("uniform", {"low": low, "high": high}, size, chunks, dtype)

    def standard_normal(self, size: int | Iterable[int], *, chunks: Any = "auto", dtype: Any = "float64") -> Any:
        """Return normal numbers with mean 0 and variance 1."""
        return self._array("standard_normal", {}, size, chunks, dtype)

    def normal(
        self, loc: float, scale: float, size: int | Iterable[int], *, chunks: Any = "auto", dtype: Any = "float64"
    ) -> Any:
        """Return normal numbers with the mean loc and the standard deviation scale."""
        return self._array("normal", {"loc": loc, "scale": scale}, size, chunks, dtype)

    def exponential(
        self, scale: float, size: int | Iterable[int], *, chunks: Any = "auto", dtype: Any = "float64"
    ) -> Any:
        """Return exponential numbers with the mean scale."""
        return self._array("exponential", {"scale": scale}, size, chunks, dtype)

    def integers(
        self,
        low: int,
        high: int | None,
        size: int | Iterable[int],
        *,
        endpoint: bool = False,
        chunks: Any = "auto",
        dtype: Any = "int64",
    ) -> Any:
        """Return integers from low to high, without high unless endpoint is true; below low if high is None."""
        return self._array("integers", {"low": low, "high": high, "endpoint": endpoint}, size, chunks, dtype)

    def permutation(self, n: int, *, chunks: Any = "auto") -> Any:
        """Return the numbers 0 to n - 1 in random order as int64. No chunk needs another one."""
        (length,) = checked_shape(n, "n")
        return _chunked(_permuted, {"elements": self._elements, "n": length}, (length,), chunks, np.dtype("int64"))

    def _array(self, method: str, arguments: dict[str, Any], size: Any, chunks: Any, dtype: Any) -> Any:
        shape, wanted = checked_shape(size, "size"), np.dtype(dtype)
        # A wrong argument is an error here and not on a worker.
        _block(self._elements, method, arguments, wanted, shape, tuple(0 for _ in shape), tuple(0 for _ in shape))
        given = {"elements": self._elements, "method": method, "arguments": arguments, "dtype": wanted, "of": shape}
        return _chunked(_made, given, shape, chunks, wanted)


def _chunked(make: Any, given: dict[str, Any], shape: tuple[int, ...], chunks: Any, dtype: np.dtype[Any]) -> Any:
    normal = da.core.normalize_chunks(chunks, shape, dtype=dtype)
    if not shape:
        raise ValueError("size must have at least one dimension")
    # The name says what is in the array, so that Dask computes the same array once.
    name = f"wellspring-{tokenize(make.__name__, given, normal)}"
    return da.map_blocks(make, given, chunks=normal, dtype=dtype, meta=np.empty((0,) * len(shape), dtype), name=name)


def _place(block_info: Any) -> list[tuple[int, int]]:
    """Where the chunk begins and ends, for each dimension."""
    location: list[tuple[int, int]] = block_info[None]["array-location"]
    return location


def _made(given: dict[str, Any], block_info: Any = None) -> Any:
    place = _place(block_info)
    at, shape = tuple(begin for begin, _ in place), tuple(end - begin for begin, end in place)
    return _block(given["elements"], given["method"], given["arguments"], given["dtype"], given["of"], at, shape)


def _permuted(given: dict[str, Any], block_info: Any = None) -> Any:
    ((begin, end),) = _place(block_info)
    return given["elements"].permutation(given["n"], end - begin, first=begin)


def _block(
    elements: random.Elements,
    method: str,
    arguments: dict[str, Any],
    dtype: np.dtype[Any],
    of: tuple[int, ...],
    at: tuple[int, ...],
    shape: tuple[int, ...],
) -> Any:
    return getattr(elements, method)(**arguments, size=shape, dtype=dtype, at=at, of=of)
