"""Arrays whose element i depends on the name of the array and on i alone."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterable
from typing import Any

from wellspring import _native
from wellspring.random._blocks import (
    Shape,
    block,
    checked_first,
    checked_integer,
    checked_length,
    checked_memory,
    checked_number,
    checked_scale,
    into,
    numpy_for,
)
from wellspring.random._distributions import Distributions
from wellspring.random._names import Path, checked_algorithm, checked_path, checked_seed, fresh_seed, words_of
from wellspring.random._shuffle import shuffled

_FLOATS = ("float64", "float32")
_INTEGERS = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")

Size = int | Iterable[int] | None


class Elements(Distributions):
    """Arrays of random numbers, named by an algorithm, a seed and a path.

    Element i of an array depends on the name, the kind of numbers and i alone. Any number of threads, any cut into
    pieces and any machine give the same array. Two calls with the same arguments give the same numbers: take another
    path for each array.

    Parameters
    ----------
    seed
        An integer from 0 to 2**128 - 1, a `SeedSequence` of NumPy, or None for 128 fresh bits of the engine.
    path
        Integers below 2**32, such as 3 or (3, 0, 17), or text such as '3/0/17'. Take it from what a task is.
    algorithm
        'chacha8', 'chacha12', 'chacha20', 'aes256-ctr' or 'philox4x64-10', in letters of any case.
    threads
        The most threads to work on. None stands for all cores of the process. The numbers do not depend on it.

    All methods for arrays take

    size
        The shape. None, without out, stands for one number.
    first
        The index of the first element.
    at, of
        Instead of consecutive elements, the block that begins at `at` in an array of the shape `of`:
        ``random((10, 5), at=(20, 40), of=(100, 100))`` equals ``random((100, 100))[20:30, 40:45]``.
    dtype
        'float64' (the default) or 'float32'; for integers any of 8 to 64 bits. Distributions without a dtype give float64 or
        int64.
    out
        An array to fill and return, or any object with a writable buffer. With strides, element i is the i-th one in
        C order.

    Other threads of Python run while numbers are made.

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
        self,
        seed: Any = None,
        path: Path = (),
        algorithm: str = "chacha8",
        *,
        threads: int | None = None,
    ) -> None:
        self._algorithm = algorithm = checked_algorithm(algorithm)
        self._path = checked_path(path)
        self._threads = _checked_threads(threads)
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
        """The seed, also one that was drawn; None if a SeedSequence was given."""
        return self._seed

    @property
    def path(self) -> tuple[int, ...]:
        """The path."""
        return self._path

    def child(self, *keys: int) -> Elements:
        """Return the arrays of the path that is longer by these keys."""
        if self._seed is None:
            raise TypeError("child needs an integer seed; a SeedSequence has spawn")
        return Elements(self._seed, (*self._path, *checked_path(keys)), self._algorithm, threads=self._threads)

    def fill(self, out: Any, *, first: int = 0) -> Any:
        """Fill a writable, contiguous buffer with bytes of the stream of this name, from byte `first` on.

        They are those of `wellspring bytes --pseudo ALGORITHM --seed SEED --stream PATH`.
        """
        self._native.fill(checked_memory(out), checked_first(first, 1 << 128), self._thread_count())
        return out

    def bytes(self, length: int, *, first: int = 0) -> builtins.bytes:
        """Return bytes of the stream of this name, from byte `first` on."""
        return self._native.bytes(checked_length(length), checked_first(first, 1 << 128), self._thread_count())

    def random(
        self,
        size: Size = None,
        dtype: Any = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Iterable[int] | None = None,
        of: Iterable[int] | None = None,
    ) -> Any:
        """Return uniform numbers in [0, 1): 0 can come, 1 cannot."""
        return self._floats("uniform", None, size, dtype, out, first, at, of)

    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        size: Size = None,
        dtype: Any = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Iterable[int] | None = None,
        of: Iterable[int] | None = None,
    ) -> Any:
        """Return low + (high - low) * u, u uniform in [0, 1). Rounding can give high, as in NumPy."""
        start, end = checked_number(low, "low"), checked_number(high, "high")
        step = end - start
        if not abs(step) < float("inf"):
            raise OverflowError("high - low must be finite")
        return self._floats("uniform", (start, step), size, dtype, out, first, at, of)

    def standard_normal(
        self,
        size: Size = None,
        dtype: Any = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Iterable[int] | None = None,
        of: Iterable[int] | None = None,
    ) -> Any:
        """Return normal numbers with mean 0 and variance 1."""
        return self._floats("normal", None, size, dtype, out, first, at, of)

    def normal(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        size: Size = None,
        dtype: Any = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Iterable[int] | None = None,
        of: Iterable[int] | None = None,
    ) -> Any:
        """Return normal numbers with the mean loc and the standard deviation scale."""
        affine = (checked_number(loc, "loc"), checked_scale(scale))
        return self._floats("normal", affine, size, dtype, out, first, at, of)

    def exponential(
        self,
        scale: float = 1.0,
        size: Size = None,
        dtype: Any = None,
        out: Any = None,
        *,
        first: int = 0,
        at: Iterable[int] | None = None,
        of: Iterable[int] | None = None,
    ) -> Any:
        """Return exponential numbers with the mean scale."""
        factor = checked_scale(scale)
        affine = None if factor == 1 else (0.0, factor)
        return self._floats("exponential", affine, size, dtype, out, first, at, of)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: Any = None,
        endpoint: bool = False,
        out: Any = None,
        *,
        first: int = 0,
        at: Iterable[int] | None = None,
        of: Iterable[int] | None = None,
    ) -> Any:
        """Return integers from low to high, without high unless endpoint is true; from 0 to low if high is None.

        All have exactly the same probability.
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
            indices = block(shape, first, at, of)
            self._native.integers(target, indices, (start, last), self._thread_count())

        return into(make, size, dtype, out, "int", _INTEGERS)

    def permutation(self, x: Any, size: int | None = None, out: Any = None, *, first: int = 0) -> Any:
        """Return the numbers 0 to x - 1 in random order as int64, or the rows of an array x in random order.

        size and first take a part of the order: the numbers at the places first to first + size - 1.
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

        return into(make, size, None, out, "int", ("int64",))

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Bring a list, an array or any other sequence that can be written to into a random order, in place.

        All orders have the same probability. The order depends on the name and the number of elements alone. An array
        with several dimensions is shuffled along `axis`: its rows keep their contents.
        """
        shuffled(self._native, x, axis)

    def _floats(
        self,
        distribution: str,
        scale: tuple[float, float] | None,
        size: Size,
        dtype: Any,
        out: Any,
        first: int,
        at: Iterable[int] | None,
        of: Iterable[int] | None,
    ) -> Any:
        def make(target: Any, shape: Shape) -> None:
            start = block(shape, first, at, of)
            self._native.floats(distribution, target, start, scale, self._thread_count())

        return into(make, size, dtype, out, "float", _FLOATS)

    def _thread_count(self) -> int:
        # 0 stands for all.
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


def _checked_threads(threads: int | None) -> int | None:
    if threads is None:
        return None
    try:
        count = operator.index(threads)
    except TypeError:
        raise TypeError("threads must be an integer or None") from None
    if not 1 <= count < 1 << 32:
        raise ValueError("threads must be from 1 to 2**32 - 1")
    return count
