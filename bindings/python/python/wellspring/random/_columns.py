"""Parameters that are arrays: which value belongs to which element, by the rules of NumPy's broadcasting."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from wellspring.random._arguments import Shape, checked_memory, checked_shape, numpy_for

# For the native half: an array, and how far its index goes on in each dimension of the elements.
Column = tuple[Any, list[int]]


def is_array(value: Any) -> bool:
    """Whether a parameter has several values: a list, a tuple, or anything with dimensions."""
    kind = type(value)
    if kind is float or kind is int:
        return False
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) != 0


def numbers_of(value: Any, name: str) -> Any:
    """Return a parameter as an array of float64. Its bounds are looked at where numbers are made."""
    np = numpy_for("a parameter that is an array")
    numbers = _plain(np, value, name)
    if numbers.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be numbers")
    return np.asarray(numbers, np.float64, order="C")


def counts_of(value: Any, name: str) -> Any:
    """Return a parameter that counts something, as an array of int64, or of float64 if it has integers from 2**63 on."""
    np = numpy_for("a parameter that is an array")
    numbers = _plain(np, value, name)
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers")
    is_large = numbers.dtype == np.uint64 and numbers.size and int(numbers.max()) >= 1 << 63
    return np.asarray(numbers, np.float64 if is_large else np.int64, order="C")


def dimensions(value: Any) -> int:
    """Return how many dimensions a parameter has: an array, or lists in lists. Anything else has none."""
    if isinstance(value, (list, tuple)):
        return 1 + (dimensions(value[0]) if value else 0)
    count: int = getattr(value, "ndim", 0)
    return count


def vectors_of(value: Any, name: str, count: int) -> Any:
    """Return a parameter whose last dimensions, as many as `count`, belong to one row, as an array of float64."""
    np = numpy_for("a parameter that is an array")
    try:
        numbers = np.array(value, copy=None, order="C")
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if numbers.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be numbers")
    if numbers.ndim == 0:
        raise TypeError(f"{name} must be a sequence of numbers")
    if numbers.ndim < count or count == 2 and numbers.shape[-1] != numbers.shape[-2]:
        raise ValueError(f"{name} must be a square matrix for each row")
    return np.asarray(numbers, np.float64, order="C")


def rows_of(arrays: Sequence[Any], counts: Sequence[int], shape: Shape) -> list[tuple[Any, int, int]]:
    """Return the columns of rows: numbers, how many belong to one row, and how far the index goes on from a row to the next."""
    np = numpy_for("a parameter that is an array")
    columns = []
    for array, count in zip(arrays, counts, strict=True):
        outer, inner = array.shape[: array.ndim - count], array.shape[array.ndim - count :]
        numbers, is_one = math.prod(inner), math.prod(outer) == 1
        if not is_one:
            array = np.ascontiguousarray(np.broadcast_to(array, (*shape, *inner)))
        columns.append((array.reshape(-1), numbers, 0 if is_one else numbers))
    return columns


def ends_of(value: Any, name: str, dtype: Any, *, past: bool) -> tuple[Any, bool]:
    """Return the ends of ranges as an array of this integer dtype, and whether they still are one past the range."""
    np = numpy_for("a parameter that is an array")
    ends = _plain(np, value, name)
    if ends.dtype == dtype:
        return np.ascontiguousarray(ends), past
    if ends.dtype.kind not in "iuO" or ends.dtype.kind == "O" and not all(isinstance(end, int) for end in ends.flat):
        raise TypeError(f"{name} must be integers")
    if not np.can_cast(ends.dtype, dtype):
        # An end past the range may be one too large for the dtype. Integers of Python have no end.
        ends = ends.astype(object) - past
        info = np.iinfo(dtype)
        if ends.size and not (info.min <= ends.min() and ends.max() <= info.max):
            raise ValueError(f"{name} is out of bounds for {dtype}")
        past = False
    return np.ascontiguousarray(ends, dtype), past


def _plain(np: Any, value: Any, name: str) -> Any:
    """Return an array of one dimension at least, without the dimensions along which it repeats."""
    try:
        numbers = np.atleast_1d(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if type(numbers) is not np.ndarray:
        # A masked array, a matrix.
        numbers = np.array(numbers, subok=False, copy=None)
    if 0 in numbers.strides and numbers.size:
        numbers = numbers[tuple(slice(1 if step == 0 else None) for step in numbers.strides)]
    return numbers


def whole_shape(parameters: Sequence[Any], size: int | Iterable[int] | None, out: Any) -> Shape:
    """Return the shape of the elements: of out, the size, or what the parameters give together."""
    np = numpy_for("a parameter that is an array")
    shapes = [np.shape(parameter) for parameter in parameters]
    try:
        together: Shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"the parameters have shapes that do not go together: {shapes}") from None
    if out is not None:
        shape = tuple(out.shape) if isinstance(out, np.ndarray) else memoryview(checked_memory(out)).shape or (1,)
    elif size is not None:
        shape = checked_shape(size, "size")
    else:
        return together
    if len(together) > len(shape) or any(ours not in (1, theirs) for ours, theirs in zip(together[::-1], shape[::-1])):
        raise ValueError(f"size {shape} is not compatible with the shape {together} of the parameters")
    return shape


def columns_of(arrays: Sequence[Any], shape: Shape) -> tuple[list[Column], list[int]]:
    """Return the columns, and the shape whose places they belong to: one dimension if each is whole or a single number."""
    length = math.prod(shape)
    if all(array.size == 1 or array.shape == shape for array in arrays):
        return [(array, [int(array.size != 1)]) for array in arrays], [length]
    columns = []
    for array in arrays:
        own = ((1,) * len(shape) + array.shape)[-len(shape) :] if shape else ()
        steps = [math.prod(own[axis + 1 :]) if own[axis] != 1 else 0 for axis in range(len(own))]
        columns.append((array, list(map(operator.index, steps))))
    return columns, list(shape)
