"""Arguments of calls for arrays: shapes, blocks of larger arrays, and where the numbers go."""

from __future__ import annotations

import array
import math
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any

Shape = tuple[int, ...]
Outer = list[tuple[int, int]]

# The codes of arrays of the standard library, for a single number.
CODE_OF_ONE = {"float": "d", "int": "q"}


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


def checked_first(first: int, limit: int = 1 << 64) -> int:
    """Return the index of an element."""
    try:
        index = operator.index(first)
    except TypeError:
        raise TypeError("first must be an integer") from None
    if not 0 <= index < limit:
        raise ValueError(f"first must be from 0 to 2**{limit.bit_length() - 1} - 1")
    return index


def checked_length(length: int) -> int:
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


def checked_scale(scale: Any) -> float:
    """Return a number from 0 on."""
    number = checked_number(scale, "scale")
    if number < 0:
        raise ValueError("scale must not be negative")
    return number


def checked_integer(value: Any, name: str) -> int:
    """Return an integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer") from None


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
    kind: str,
    allowed: tuple[str, ...],
) -> Any:
    """Call make with contiguous memory and the array's shape; return the array, or a number if neither size nor out is given.

    allowed are names of dtypes, the first of which is the default.
    """
    if out is not None:
        return _into_out(make, size, dtype, out, allowed)
    if size is None and dtype is None:
        one = array.array(CODE_OF_ONE[kind], [0])
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
        raise TypeError(f"dtype is none of NumPy: {error}") from None


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
