"""Arrays whose element i depends on the name of the array and on i alone.

The distributions are in `_distributions`, by one table. Here are the name, bytes, choices and orders.
"""

from __future__ import annotations

import array
import builtins
import math
import operator
import sys
from collections.abc import Iterable, Iterator, MutableSequence
from typing import Any, NoReturn, Protocol, SupportsIndex, TypeVar, overload

from wellspring import _native
from wellspring.random._arguments import (
    Path,
    Shape,
    checked_algorithm,
    checked_first,
    checked_length,
    checked_memory,
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
from wellspring.random._distributions import Distributions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Size = SupportsIndex | Iterable[SupportsIndex]
Out = TypeVar("Out")


class SeedSequence(Protocol):
    """What NumPy's `SeedSequence` has, and makes words of."""

    def generate_state(self, n_words: int, dtype: Any = ...) -> Any:
        """Return n_words words."""


# What NumPy's generators have, and arrays with a name do not: what to write.
_INSTEAD = {
    "spawn": "child(0), child(1) and so on, or next() of children(): a name has no counter of its children",
    "bit_generator": "wellspring.random.default_rng(seed, path=..).bit_generator: a name has no state",
    "rand": "random(size)",
    "randn": "standard_normal(size)",
    "randint": "integers(low, high, size)",
    "random_sample": "random(size)",
}


class Elements(Distributions):
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
    A parameter that is an array has a value for each element, by NumPy's broadcasting; element i is the number of a call
    with its own parameters. An `out` with strides is filled in C order. Instead of consecutive elements, `at` and `of`
    make a block: ``random((10, 5), at=(20, 40), of=(100, 100))`` equals
    ``random((100, 100))[20:30, 40:45]``. Other threads of Python run while numbers are made.

    Examples
    --------
    >>> name = Elements(2026, (3, 0, 17))
    >>> a = name.random((1000, 1000))
    >>> bool((name.random((10, 1000), first=500_000) == a[500:510]).all())
    True
    >>> name.integers(1, 7, 5).tolist() == name.integers(1, 7, 9)[:5].tolist()
    True
    >>> bool(name.normal([0.0, 100.0], [1.0, 15.0])[1] == name.normal(100.0, 15.0, first=1))
    True
    """

    __slots__ = ("_algorithm", "_native", "_origin", "_path", "_seed", "_threads", "_words")

    def __init__(
        self,
        seed: SupportsIndex | SeedSequence | None = None,
        path: Path = (),
        algorithm: str = "chacha8",
        *,
        threads: SupportsIndex | None = None,
    ) -> None:
        self._algorithm = algorithm = checked_algorithm(algorithm)
        self._path = checked_path(path)
        self._threads = checked_threads(threads)
        self._words: tuple[int, ...] | None = None
        self._seed: int | None = None
        # Of a SeedSequence: its seed and its path, for reports.
        self._origin: tuple[Any, Any] = (getattr(seed, "entropy", None), getattr(seed, "spawn_key", ()))
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

    def child(self, *keys: SupportsIndex) -> Elements:
        """Return the arrays of the path that is longer by these keys.

        Examples
        --------
        >>> Elements(2026, 3).child(0, 17) == Elements(2026, "3/0/17")
        True
        """
        if self._seed is None:
            raise TypeError("child needs an integer seed; a SeedSequence has spawn")
        return Elements(self._seed, (*self._path, *checked_path(keys)), self._algorithm, threads=self._threads)

    def children(self, first: SupportsIndex = 0) -> Iterator[Elements]:
        """Return an iterator of the children first, first + 1 and so on: other arrays from each `next`.

        A name draws the same numbers twice. For a program that wants new ones at each call, the iterator counts.

        Examples
        --------
        >>> names = Elements(2026).children()
        >>> next(names).random(2).round(3).tolist(), next(names).random(2).round(3).tolist()
        ([0.604, 0.095], [0.25, 0.452])
        >>> next(names)
        Elements(2026, (2,), 'chacha8')
        """
        return map(self.child, range(checked_first(first, 1 << 32), 1 << 32))

    def fill(self, out: Out, *, first: SupportsIndex = 0) -> Out:
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

    def bytes(self, length: SupportsIndex, *, first: SupportsIndex = 0) -> builtins.bytes:
        """Return `length` bytes of the stream of this name, from byte `first` on.

        Examples
        --------
        >>> Elements(2026).bytes(4, first=1000).hex()
        '18564576'
        """
        made: builtins.bytes = self._native.bytes(checked_length(length), checked_first(first, 1 << 128), self._thread_count())
        return made

    @overload
    def choice(
        self, a: SupportsIndex, size: None = None, replace: bool = True, p: ArrayLike | None = None,
        axis: int = 0, shuffle: bool = True, *, first: SupportsIndex = 0,
    ) -> int: ...
    @overload
    def choice(
        self, a: SupportsIndex, size: Size, replace: bool = True, p: ArrayLike | None = None,
        axis: int = 0, shuffle: bool = True, *, first: SupportsIndex = 0,
    ) -> NDArray[np.int64]: ...
    @overload
    def choice(
        self, a: ArrayLike, size: None = None, replace: bool = True, p: ArrayLike | None = None,
        axis: int = 0, shuffle: bool = True, *, first: SupportsIndex = 0,
    ) -> Any: ...
    @overload
    def choice(
        self, a: ArrayLike, size: Size, replace: bool = True, p: ArrayLike | None = None,
        axis: int = 0, shuffle: bool = True, *, first: SupportsIndex = 0,
    ) -> NDArray[Any]: ...
    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None,
        axis: int = 0, shuffle: bool = True, *, first: SupportsIndex = 0,
    ) -> Any:
        """Return elements of a, or integers below a, with the probabilities p or with equal ones.

        Without replacement they are the first of `permutation`. With p as well, they are the elements with the least
        ``exponential(size=len(p)) / p`` (Efraimidis and Spirakis, 2006), and first must be 0.

        Parameters
        ----------
        a : int or array
            How many integers, or the elements: along `axis` of an array with several dimensions.
        size : int or tuple of ints, optional
            The shape. Without it one element is returned.
        replace : bool, default True
            Whether an element can come more than once.
        p : sequence of numbers, optional
            A probability for each element. From 0 to 1; their sum is 1, within the root of the step of their dtype at 1.
        axis : int, default 0
            The axis of an array along which its elements lie.
        shuffle : bool, default True
            Taken as NumPy takes it. The order is random in any case.
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
            count = population.shape[axis]
        shape: Shape = () if size is None else checked_shape(size, "size")
        if count <= 0 and math.prod(shape) > 0:
            raise ValueError("a must be above 0, or have elements")
        weights = None if p is None else checked_weights(np, p, count)
        indices = self._indices(np, count, math.prod(shape), replace, weights, first).reshape(shape)
        if population is None:
            return int(indices) if size is None else indices
        if size is None and population.ndim == 1:
            return population[int(indices)]
        return population.take(int(indices) if size is None else indices, axis)

    def _indices(self, np: Any, count: int, length: int, replace: bool, weights: Any, first: SupportsIndex) -> Any:
        if replace and weights is None:
            return self.integers(count, size=length, first=first)
        if replace:
            return self._draw("choice", (weights.tolist(),), length, None, None, first)
        if checked_first(first) + length > count:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        if weights is None:
            return self.permutation(count, length, first=first)
        if first != 0:
            raise ValueError("first goes with replacement, or without p")
        if np.count_nonzero(weights) < length:
            raise ValueError("Fewer non-zero entries in p than size")
        with np.errstate(divide="ignore", invalid="ignore"):
            keys = self.exponential(size=count) / weights
        keys[weights == 0] = np.inf
        return np.argsort(keys, kind="stable")[:length]

    # ---- orders ----

    @overload
    def permutation(
        self, x: SupportsIndex, size: SupportsIndex | None = None, out: None = None, *, first: SupportsIndex = 0
    ) -> NDArray[np.int64]: ...
    @overload
    def permutation(
        self, x: SupportsIndex, size: SupportsIndex | None = None, *, out: Out, first: SupportsIndex = 0
    ) -> Out: ...
    @overload
    def permutation(self, x: ArrayLike, *, axis: SupportsIndex = 0) -> NDArray[Any]: ...
    def permutation(
        self, x: Any, size: Any = None, out: Any = None, *, first: SupportsIndex = 0, axis: SupportsIndex = 0
    ) -> Any:
        """Return the numbers 0 to x - 1 in random order as int64, or the rows of an array x in random order.

        Any part of the order can be made alone. For the whole, `shuffle` takes a third to a half of the time.

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
        axis : int, default 0
            The axis of an array along which its rows lie.

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
            along = operator.index(axis)
            return rows.take(self.permutation(rows.shape[along]), along)
        if not 0 <= length < 1 << 63:
            raise ValueError("x must be from 0 to 2**63 - 1")
        start = checked_first(first)
        if size is None and out is None:
            size = max(length - start, 0)

        def make(target: Any, shape: Shape) -> None:
            self._native.permutation(target, start, length, self._thread_count())

        return into(make, size, None, out, ("int64",))

    def shuffle(self, x: MutableSequence[Any] | NDArray[Any], axis: SupportsIndex = 0) -> None:
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

    def permuted(self, x: ArrayLike, axis: SupportsIndex | None = None, out: Any = None) -> NDArray[Any]:
        """Return a copy of an array in which each row along an axis has an order of its own.

        Parameters
        ----------
        x : array
            The rows.
        axis : int, optional
            The axis along which elements change places. Without it all elements of x do.
        out : array, optional
            What to fill and return: an array of NumPy with the shape of x.

        Examples
        --------
        >>> Elements(2026).permuted([[1, 2, 3, 4], [5, 6, 7, 8]], axis=1).tolist()
        [[4, 2, 3, 1], [8, 6, 7, 5]]
        """
        np = numpy_for("permuted")
        rows = np.asarray(x)
        if axis is None:
            order = np.arange(rows.size, dtype=np.int64)
            self._native.shuffle(order)
            made = rows.reshape(-1)[order].reshape(rows.shape)
        else:
            axis = operator.index(axis)
            if not -rows.ndim <= axis < rows.ndim:
                raise ValueError(f"axis {axis} is not one of the {rows.ndim} of x")
            last = np.moveaxis(rows, axis, -1)
            width = last.shape[-1]
            order = self.subsets(width, width, last.shape[:-1]) if last.size else np.zeros(last.shape, np.int64)
            made = np.moveaxis(np.take_along_axis(last, order, -1), -1, axis)
        if out is None:
            out = np.empty(rows.shape, rows.dtype)
        out[...] = made
        result: NDArray[Any] = out
        return result

    def __getattr__(self, name: str) -> NoReturn:
        """Say what to write in the place of what NumPy's generators have."""
        instead = f"; take {_INSTEAD[name]}" if name in _INSTEAD else ""
        raise AttributeError(f"'Elements' has no attribute '{name}'{instead}", name=name, obj=self)

    def _thread_count(self) -> int:
        # 0 means all.
        return 0 if self._threads is None else self._threads

    def __reduce__(self) -> tuple[Any, ...]:
        name = self._seed if self._words is None else None
        return _restored, (name, self._path, self._algorithm, self._threads, self._words, self._origin)

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
            seed, path = self._origin
            return f"<Elements of a SeedSequence, seed {seed}, path {tuple(path)}, {self._algorithm}>"
        return f"Elements({self._seed}, {self._path}, {self._algorithm!r})"


class _Words:
    """A key in the place of a SeedSequence, with the seed and the path that it came from."""

    def __init__(self, words: tuple[int, ...], origin: tuple[Any, Any] = (None, ())) -> None:
        self._words = words
        self.entropy, self.spawn_key = origin

    def generate_state(self, n_words: int, dtype: Any = None) -> tuple[int, ...]:
        return self._words[:n_words]


def _restored(
    seed: int | None,
    path: tuple[int, ...],
    algorithm: str,
    threads: int | None,
    words: tuple[int, ...] | None,
    origin: tuple[Any, Any] = (None, ()),
) -> Elements:
    """Return arrays from their pickle."""
    return Elements(seed if words is None else _Words(words, origin), path, algorithm, threads=threads)


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
