"""Shuffles of arrays and sequences in place."""

from __future__ import annotations

import array
import operator
import sys
from collections.abc import MutableSequence
from typing import Any

from wellspring import _native


def shuffled(native: _native.Elements, x: Any, axis: int) -> None:
    """Bring x into a random order, the same one for whatever has as many elements."""
    try:
        axis = operator.index(axis)
    except TypeError:
        raise TypeError("axis must be an integer") from None
    np = sys.modules.get("numpy")
    if np is not None and isinstance(x, np.ndarray):
        _shuffle_array(np, native, x, axis)
        return
    if axis != 0:
        raise ValueError("axis goes with NumPy's arrays: it must be 0 here")
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
