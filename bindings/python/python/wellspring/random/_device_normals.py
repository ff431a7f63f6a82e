"""Normal numbers in operations that the array libraries of accelerators have: see `_device_words`.

The ziggurat of `wellspring.random.Elements`, to the last bit. Every operation rounds once, by IEEE 754. Compilers break that in
two ways, both of which are shut off here: they merge a product and a sum into one operation that rounds once
(`_rounded`), and they divide by a constant as a product with its inverse (`_number`).
"""

from __future__ import annotations

import functools
import math
from typing import Any

from wellspring.random._device_words import signed

_LAYERS = 1024
_TAIL = 4.038849846109505
_AREA = 0.0012263246463530882
_STEP = 2.0**-53
_ONE = 1023 << 52
_FRACTION = (1 << 52) - 1
_LN_2_HIGH = float.fromhex("0x1.62e42p-1")
_LN_2_LOW = 4.7493250390316726e-07


def _rounded(xp: Any, product: Any) -> Any:
    """Return the product, which is smaller. With the minimum between, no compiler merges it with a sum."""
    return xp.least(product, 1e300)


def _number(like: Any, value: float) -> Any:
    """Return the value as a number that no compiler knows beforehand: a float times 0 can be NaN."""
    return like * 0.0 + value


def _exp(xp: Any, x: Any) -> Any:
    exponent = xp.whole(x / _number(x, _LN_2_HIGH + _LN_2_LOW) - 0.5)
    n = xp.double(exponent)
    r = (x - _rounded(xp, n * _LN_2_HIGH)) - _rounded(xp, n * _LN_2_LOW)
    total = _number(x, 1.0)
    for i in range(14, 0, -1):
        total = 1.0 + total * r / _number(r, i)
    return _rounded(xp, total * xp.from_bits(exponent + 1023 << 52))


def _ln(xp: Any, x: Any) -> Any:
    bits = xp.bits(x)
    mantissa = xp.from_bits(bits & _FRACTION | _ONE)
    is_large = mantissa > math.sqrt(2.0)
    exponent = xp.double((bits >> 52) - 1023 + xp.where(is_large, 1, 0))
    mantissa = xp.where(is_large, mantissa * 0.5, mantissa)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square, total = s * s, s * 0.0
    for i in range(23, 1, -2):
        total = _rounded(xp, (total + 1.0 / i) * square)
    fraction = _rounded(xp, 2.0 * s * (1.0 + total))
    return _rounded(xp, exponent * _LN_2_HIGH) + (_rounded(xp, exponent * _LN_2_LOW) + fraction)


def _density(xp: Any, x: Any) -> Any:
    return _exp(xp, _rounded(xp, -0.5 * x * x))


class _NumPy:
    """The operations for the tables."""

    @staticmethod
    def least(x: Any, y: float) -> Any:
        return min(x, y)

    @staticmethod
    def whole(x: Any) -> Any:
        return int(x)

    double = float

    @staticmethod
    def bits(x: Any) -> Any:
        import struct

        return struct.unpack("<q", struct.pack("<d", x))[0]

    @staticmethod
    def from_bits(bits: Any) -> Any:
        import struct

        return struct.unpack("<d", struct.pack("<q", bits))[0]

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Any:
        return x if condition else y


@functools.cache
def tables() -> tuple[list[float], list[float]]:
    """Return how far each layer reaches, and the density there."""
    xp = _NumPy
    edges = [_AREA / _density(xp, _TAIL), _TAIL]
    while len(edges) < _LAYERS:
        edges.append(math.sqrt(-2.0 * _ln(xp, _density(xp, edges[-1]) + _AREA / edges[-1])))
    edges.append(0.0)
    return edges, [_density(xp, edge) for edge in edges]


def uniform(xp: Any, word: Any) -> Any:
    """Return the upper 53 bits of a word as a number in [0, 1)."""
    return xp.double(word >> 11 & (1 << 53) - 1) * _STEP


def draw(xp: Any, word: Any) -> tuple[Any, Any, Any]:
    """Return the layer of a word, its place there, and whether it lies under the density for certain."""
    edges = xp.table("edges")
    layer = word & _LAYERS - 1
    x = uniform(xp, word) * edges[layer]
    return layer, x, x < edges[layer + 1]


def with_sign(xp: Any, x: Any, word: Any) -> Any:
    """Return x with the sign of a word, its bit 10."""
    return xp.from_bits(xp.bits(x) | word << 53 & signed(1 << 63))


def go_on(xp: Any, word: Any, first: Any, second: Any) -> tuple[Any, Any, Any]:
    """Go on where one word was not enough, with two more. Return a number, the word that has its sign, and if that is all."""
    densities = xp.table("densities")
    layer, x, _ = draw(xp, word)
    # The tail (Marsaglia 1964).
    exponential = -_ln(xp, 1.0 - uniform(xp, xp.stack([first, second])))
    beyond = exponential[..., 0] / _number(x, _TAIL)
    is_beyond = 2.0 * exponential[..., 1] > beyond * beyond
    # The edge of a layer, or else another draw.
    below, above = densities[layer], densities[layer + 1]
    is_under = below + _rounded(xp, uniform(xp, first) * (above - below)) < _density(xp, x)
    _, other, is_inside = draw(xp, second)
    is_tail = layer == 0
    number = xp.where(is_tail, _TAIL + beyond, xp.where(is_under, x, other))
    return number, xp.where(is_tail | is_under, word, second), xp.where(is_tail, is_beyond, is_under | is_inside)
