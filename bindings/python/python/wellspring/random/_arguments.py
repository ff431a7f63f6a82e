"""Arguments of calls: what names a stream, shapes, blocks of larger arrays, and where the numbers go."""

from __future__ import annotations

import array
import math
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, SupportsIndex

from wellspring import _native

Path = str | SupportsIndex | Iterable[SupportsIndex]

ALGORITHMS = (
    "xoshiro256++",
    "xoshiro256++x16",
    "xorshift128+",
    "philox4x64-10",
    "chacha8",
    "chacha12",
    "chacha20",
    "aes256-ctr",
)

# Keys of 256 bits come from a pool of 256 bits: eight words of 32.
WIDE = frozenset(("chacha8", "chacha12", "chacha20", "aes256-ctr"))


def checked_seed(seed: Any) -> int:
    """Return the seed as an integer from 0 to 2**128 - 1."""
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"seed must be an integer, a SeedSequence or None, not {type(seed).__name__}") from None
    if not 0 <= number < 1 << 128:
        raise ValueError("seed must be from 0 to 2**128 - 1")
    return number


def checked_algorithm(algorithm: str) -> str:
    """Return the name as it is written here: 'ChaCha8' is 'chacha8'."""
    if not isinstance(algorithm, str):
        raise TypeError("algorithm must be text, such as 'chacha8'")
    return algorithm.lower()


def checked_path(path: Path) -> tuple[int, ...]:
    """Return the path as numbers below 2**32. As text it is written '3/0/17'; the root is '/'; 3 is (3,)."""
    if isinstance(path, str):
        return tuple(_native.Elements.parse_path(path))
    several: Any = path
    try:
        several = (operator.index(several),)
    except TypeError:
        pass
    if isinstance(path, (bytes, bytearray, set, frozenset, dict)):
        # Bytes are no text, and the others have no order.
        raise TypeError(f"path must be integers in an order, such as (3, 0, 17), or text, not {type(path).__name__}")
    try:
        elements = tuple(operator.index(element) for element in several)
    except TypeError:
        raise TypeError("path must be integers, such as (3, 0, 17), or text, such as '3/0/17'") from None
    for element in elements:
        if not 0 <= element < 1 << 32:
            raise ValueError(f"path: {element} is not from 0 to 2**32 - 1. Write a larger number as two")
    return elements


def fresh_seed() -> int:
    """Return 128 bits of the engine."""
    return _native.randbits(128)


def words_of(algorithm: str, seed_sequence: Any) -> list[int]:
    """Return the key or state that a SeedSequence of NumPy names: the same as its seed and path give.

    Another object with `generate_state` gives its own words.
    """
    import numpy as np

    if algorithm in WIDE and type(seed_sequence) is np.random.SeedSequence and seed_sequence.pool_size < 8:
        seed_sequence = np.random.SeedSequence(
            seed_sequence.entropy, spawn_key=seed_sequence.spawn_key, pool_size=8
        )
    try:
        words = [operator.index(word) for word in seed_sequence.generate_state(4, np.uint64)]
    except TypeError as error:
        raise TypeError(f"seed has no usable generate_state: {error}") from None
    if len(words) != 4 or not all(0 <= word < 1 << 64 for word in words):
        raise TypeError("seed has no usable generate_state: it must return 4 words of 64 bits")
    return words


Shape = tuple[int, ...]
Outer = list[tuple[int, int]]


def checked_shape(size: int | Iterable[int], name: str) -> Shape:
    """Return a size as a tuple of numbers from 0 on."""
    try:
        shape: Shape = (operator.index(size),)  # type: ignore[arg-type]
    except TypeError:
        try:
            shape = tuple(operator.index(length) for length in size)  # type: ignore[union-attr]
        except TypeError:
            raise TypeError(f"{name} must be an integer or a tuple of integers") from None
    if any(length < 0 for length in shape):
        raise ValueError(f"{name} must not be negative")
    return shape


def checked_first(first: SupportsIndex, limit: int = 1 << 64) -> int:
    """Return the index of an element."""
    try:
        index = operator.index(first)
    except TypeError:
        raise TypeError("first must be an integer") from None
    if not 0 <= index < limit:
        raise ValueError(f"first must be from 0 to 2**{limit.bit_length() - 1} - 1")
    return index


def checked_length(length: SupportsIndex) -> int:
    """Return a number of bytes."""
    try:
        number = operator.index(length)
    except TypeError:
        raise TypeError("length must be an integer") from None
    if not 0 <= number <= sys.maxsize:
        raise ValueError("length must not be negative" if number < 0 else "length is larger than any memory")
    return number


def checked_memory(out: Any) -> Any:
    """Return what can be written to through a buffer."""
    try:
        memoryview(out).release()
    except TypeError:
        raise TypeError(f"out must have a writable buffer, not {type(out).__name__}") from None
    except (ValueError, BufferError) as error:
        # A released memoryview, a closed mmap, a type of NumPy without a format.
        kind = TypeError if hasattr(out, "dtype") else ValueError
        raise kind(f"out has no memory that can be written to: {error}") from None
    return out


def checked_number(value: Any, name: str) -> float:
    """Return a finite number."""
    if isinstance(value, (str, bytes, bytearray)) or getattr(value, "ndim", 0) != 0:
        raise TypeError(f"{name} must be a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number") from None
    except OverflowError:
        raise ValueError(f"{name} must be finite in float64") from None
    if not abs(number) < float("inf"):
        raise ValueError(f"{name} must be finite")
    return number


def checked_integer(value: Any, name: str) -> int:
    """Return an integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer") from None


def checked_bound(value: Any, name: str) -> float:
    """Return a number, which may be infinite."""
    if isinstance(value, float) and math.isinf(value):
        return value
    return checked_number(value, name)


def checked_count(value: Any, name: str) -> int:
    """Return an integer from 0 to 2**63 - 1."""
    number = checked_integer(value, name)
    if not 0 <= number < 1 << 63:
        raise ValueError(f"{name} < 0" if number < 0 else f"{name} must be below 2**63")
    return number


def _sequence(values: Any, name: str) -> list[Any]:
    if isinstance(values, (str, bytes, bytearray)):
        raise TypeError(f"{name} must be numbers")
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{name} must be a sequence of numbers") from None


def checked_numbers(values: Any, name: str) -> list[float]:
    """Return finite numbers."""
    return [checked_number(number, name) for number in _sequence(values, name)]


def checked_matrix(values: Any, name: str) -> list[float]:
    """Return the rows of a square matrix, one after the other."""
    rows = [checked_numbers(row, name) for row in _sequence(values, name)]
    if any(len(row) != len(rows) for row in rows):
        raise ValueError(f"{name} must be a square matrix")
    return [number for row in rows for number in row]


def checked_weights(np: Any, p: Any, count: int) -> Any:
    """Return a probability for each of `count` elements, as an array of float64. The dtype says how near 1 their sum is."""
    weights = np.asarray(p)
    kind = weights.dtype
    try:
        if kind.kind not in "fiubO":
            raise TypeError
        weights = weights.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError("p must be numbers") from None
    if weights.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if len(weights) != count:
        raise ValueError("a and p must have same size")
    if not np.isfinite(weights).all():
        raise ValueError("probabilities contain NaN or are not finite")
    if (weights < 0).any():
        raise ValueError("probabilities are not non-negative")
    # As much as NumPy allows.
    tolerance = max(2**-26, float(np.finfo(kind).eps) ** 0.5) if kind.kind == "f" else 2**-26
    if not abs(float(weights.sum()) - 1) <= tolerance:
        raise ValueError("probabilities do not sum to 1")
    return weights


def checked_threads(threads: SupportsIndex | None) -> int | None:
    """Return a number of threads, or None for all."""
    if threads is None:
        return None
    try:
        count = operator.index(threads)
    except TypeError:
        raise TypeError("threads must be an integer or None") from None
    if not 1 <= count < 1 << 32:
        raise ValueError("threads must be from 1 to 2**32 - 1")
    return count


def block(shape: Shape, first: int, at: Iterable[int] | None, of: Iterable[int] | None) -> tuple[int, Outer]:
    """Return the index of the first element, and the outer dimensions: how many, and how far apart.

    Without at and of, the elements are consecutive. With them, they are a block of an array of the shape `of`.
    """
    first = checked_first(first)
    if at is None and of is None:
        return first, []
    if at is None or of is None:
        raise ValueError("at and of go together: where the block begins, and the shape of the whole array")
    begin, whole = checked_shape(at, "at"), checked_shape(of, "of")
    if not len(begin) == len(whole) == len(shape):
        raise ValueError(f"at, of and the block must have as many dimensions: {begin}, {whole}, {shape}")
    for offset, length, total in zip(begin, shape, whole, strict=True):
        if offset + length > total:
            raise ValueError(f"the block of shape {shape} at {begin} is not inside of {whole}")
    if math.prod(whole) > 1 << 64:
        raise ValueError("of has more than 2**64 elements")
    steps = [math.prod(whole[axis + 1 :]) for axis in range(len(whole))]
    if math.prod(shape) == 0:
        return first, []
    first += sum(offset * step for offset, step in zip(begin, steps, strict=True))
    outer = list(zip(shape[:-1], steps[:-1], strict=True))
    run = shape[-1] if shape else 1
    # Rows that touch each other are one run.
    while outer and outer[-1][1] == run:
        run *= outer.pop()[0]
    return checked_first(first), outer


def into(
    make: Callable[[Any, Shape], None],
    size: int | Iterable[int] | None,
    dtype: Any,
    out: Any,
    allowed: tuple[str, ...],
) -> Any:
    """Call make with contiguous memory and the array's shape; return the array, or a number if neither size nor out is given.

    allowed are names of dtypes. The first is the default.
    """
    if out is not None:
        return _into_out(make, size, dtype, out, allowed)
    if size is None and dtype is None:
        one = array.array("d" if allowed[0] == "float64" else "q", [0])
        make(one, (1,))
        return one[0]
    np = numpy_for("an array")
    wanted = _checked_dtype(np, allowed[0] if dtype is None else dtype)
    if _name_of(wanted) not in allowed or not wanted.isnative:
        raise TypeError(f"dtype {wanted} is not one of {', '.join(allowed)}")
    if size is None:
        one = np.empty(1, wanted)
        make(one, (1,))
        return one[0]
    shape = checked_shape(size, "size")
    try:
        new = np.empty(shape, wanted)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"size is more than an array can have: {error}") from None
    make(new.reshape(-1), shape)
    return new


def _into_out(
    make: Callable[[Any, Shape], None],
    size: int | Iterable[int] | None,
    dtype: Any,
    out: Any,
    allowed: tuple[str, ...],
) -> Any:
    np = sys.modules.get("numpy")
    if np is None or not isinstance(out, np.ndarray):
        view = memoryview(checked_memory(out))
        shape = view.shape or (1,)
        _check_size(size, shape)
        if dtype is not None:
            raise TypeError("dtype goes with NumPy's arrays; this out has a format of its own")
        make(out, shape)
        return out
    # What the memory is, whatever a subclass says of itself; and without the mask of a masked array.
    plain = out if type(out) is np.ndarray else out.view(type=np.ndarray)
    flags, own = plain.flags, plain.dtype
    if not flags.writeable:
        raise ValueError("out is read-only")
    if _name_of(own) not in allowed or not own.isnative:
        raise TypeError(f"out has the dtype {own}; it must have one of {', '.join(allowed)}")
    if dtype is not None and _checked_dtype(np, dtype) != own:
        raise TypeError(f"out has the dtype {own}, and dtype is {np.dtype(dtype)}")
    _check_size(size, plain.shape)
    if flags.c_contiguous and flags.aligned:
        make(plain.reshape(-1), plain.shape)
    else:
        # Strided, Fortran order or not aligned: the same elements by way of a copy.
        copy = np.empty(plain.shape, plain.dtype)
        make(copy.reshape(-1), plain.shape)
        plain[...] = copy
    return out


# What NumPy computes anew, in a microsecond, each time that it is asked.
_known_names: dict[Any, str] = {}


def _name_of(dtype: Any) -> str:
    name = _known_names.get(dtype)
    if name is None:
        name = str(dtype.name)
        if dtype.isbuiltin == 1:
            _known_names[dtype] = name
    return name


def _checked_dtype(np: Any, dtype: Any) -> Any:
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"dtype is not a dtype of NumPy: {error}") from None


def _check_size(size: int | Iterable[int] | None, shape: Shape) -> None:
    if size is not None and checked_shape(size, "size") != tuple(shape):
        raise ValueError(f"size {size} does not match the shape {tuple(shape)} of out")


def numpy_for(what: str) -> Any:
    """Import NumPy, or say what it is needed for."""
    try:
        import numpy
    except ModuleNotFoundError as error:
        raise ImportError(f"{what} needs NumPy: pip install numpy; or give an out with memory of its own") from error
    return numpy
