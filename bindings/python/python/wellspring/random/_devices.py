"""The stream of ChaCha8, and normal numbers, in operations that the array libraries of accelerators have.

On CPUs `wellspring.jax` and `wellspring.torch` call the native code instead, and its bits are the same.

`xp` stands for such a library: a class of `wellspring.jax` or `wellspring.torch` with a dozen functions. Indices are int64
and wrap: 2**63 is written -2**63.

`wellspring.random.Elements` gives the same normal numbers, by the ziggurat, to the last bit. Every operation rounds once, by
IEEE 754. Compilers break that in two ways, which are shut off here: they merge a product and a sum into one operation that
rounds once (`_rounded`), and they divide by a constant as a product with its inverse (`_number`).
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any

from wellspring import _native
from wellspring.random._arguments import Path, Shape, block, checked_path, checked_seed, checked_shape, words_of
from wellspring.random._elements import Elements as Arrays

# "expand 32-byte k" (Bernstein, "ChaCha, a variant of Salsa20", 2008).
_CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
_DOUBLE_ROUNDS = 4
_BLOCK_WORDS = 16
_COLUMNS = [(i, 4 + i, 8 + i, 12 + i) for i in range(4)]
_DIAGONALS = [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]

# The row of blocks that is the stream itself, and the first of the rows of normal numbers.
STREAM_ROW = 0
NORMAL_ROW = 1 << 63 | 3 << 56

# What a call makes: the index of its first element, that index modulo the elements of a block if it is known before the
# program runs, the outer dimensions (how many, and how far apart), and the elements in a run.
Plan = tuple[Any, int | None, tuple[tuple[int, int], ...], int]


def key_words(seed: Any, path: Path) -> list[int]:
    """Return the key of a seed and a path, or of a SeedSequence, as 8 words of 32 bits."""
    import numpy as np

    if not hasattr(seed, "generate_state"):
        seed = np.random.SeedSequence(checked_seed(seed), spawn_key=checked_path(path), pool_size=8)
    elif checked_path(path):
        raise TypeError("path goes with an integer seed: a SeedSequence has its own spawn_key")
    return [half for word in words_of("chacha8", seed) for half in (word & 0xFFFFFFFF, word >> 32)]


@functools.lru_cache(64)
def native(words: tuple[int, ...]) -> _native.Elements:
    """Return the arrays of a key in the native code, which makes them where the memory is a CPU's."""
    return _native.Elements.from_halves([word & 0xFFFFFFFF for word in words])


def name_of(seed: Any, path: Path) -> str:
    """Return a seed and a path, or what a SeedSequence has of them, for reports."""
    if hasattr(seed, "generate_state"):
        seed, path = getattr(seed, "entropy", None), getattr(seed, "spawn_key", ())
    return f"seed {seed}, path {checked_path(path)}"


def _by_host(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method of `wellspring.random.Elements`, without `out`, for numbers that go from the host to a device."""
    plain = inspect.signature(method)
    signature = plain.replace(parameters=[own for own in plain.parameters.values() if own.name != "out"])

    @functools.wraps(method)
    def made(self: Any, *arguments: Any, **keywords: Any) -> Any:
        named = signature.bind(self, *arguments, **keywords).arguments
        del named["self"]
        return self._from_host(method, named)

    made.__signature__ = signature  # type: ignore[attr-defined]
    summary = (method.__doc__ or "").partition("\n")[0]
    made.__doc__ = f"{summary}\n\nThe host makes the numbers: see `wellspring.random.Elements`."
    return made


class ByHost:
    """The distributions with parameters, single numbers or arrays, for a class that has `_from_host`."""

    uniform = _by_host(Arrays.uniform)
    normal = _by_host(Arrays.normal)
    standard_exponential = _by_host(Arrays.standard_exponential)
    exponential = _by_host(Arrays.exponential)
    integers = _by_host(Arrays.integers)
    laplace = _by_host(Arrays.laplace)
    logistic = _by_host(Arrays.logistic)
    gumbel = _by_host(Arrays.gumbel)
    lognormal = _by_host(Arrays.lognormal)
    truncated_normal = _by_host(Arrays.truncated_normal)
    weibull = _by_host(Arrays.weibull)
    rayleigh = _by_host(Arrays.rayleigh)
    pareto = _by_host(Arrays.pareto)
    power = _by_host(Arrays.power)
    triangular = _by_host(Arrays.triangular)
    vonmises = _by_host(Arrays.vonmises)
    wald = _by_host(Arrays.wald)
    standard_cauchy = _by_host(Arrays.standard_cauchy)
    standard_gamma = _by_host(Arrays.standard_gamma)
    gamma = _by_host(Arrays.gamma)
    chisquare = _by_host(Arrays.chisquare)
    noncentral_chisquare = _by_host(Arrays.noncentral_chisquare)
    beta = _by_host(Arrays.beta)
    f = _by_host(Arrays.f)
    noncentral_f = _by_host(Arrays.noncentral_f)
    standard_t = _by_host(Arrays.standard_t)
    geometric = _by_host(Arrays.geometric)
    binomial = _by_host(Arrays.binomial)
    negative_binomial = _by_host(Arrays.negative_binomial)
    hypergeometric = _by_host(Arrays.hypergeometric)
    logseries = _by_host(Arrays.logseries)
    zipf = _by_host(Arrays.zipf)
    poisson = _by_host(Arrays.poisson)


def signed(number: int, bits: int = 64) -> int:
    """Return the integer with the same lowest bits that a signed type holds."""
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def plan(
    shape: Shape,
    words: int,
    first: Any,
    at: Iterable[Any] | None,
    of: Iterable[int] | None,
    traced: Callable[[Any], bool] = lambda _: False,
) -> Plan:
    """Return what to make for elements of so many words. `traced` marks numbers that are not known yet."""
    offset, aligned = 0, True
    if traced(first):
        offset, first, aligned = first, 0, False
    if at is not None and of is not None:
        at, of = tuple(at), checked_shape(of, "of")
        for axis, begin in enumerate(at):
            if traced(begin):
                step = math.prod(of[axis + 1 :])
                offset = offset + begin * step
                aligned = aligned and step * words % _BLOCK_WORDS == 0
        at = tuple(0 if traced(begin) else begin for begin in at)
    start, outer = block(shape, first, at, of)
    if not outer and start + math.prod(shape) > 1 << 64:
        raise ValueError("the last index is above 2**64 - 1")
    aligned = aligned and all(step * words % _BLOCK_WORDS == 0 for _, step in outer)
    run = math.prod(shape) // math.prod(count for count, _ in outer)
    known = start % (_BLOCK_WORDS // words) if aligned else None
    return offset + signed(start), known, tuple(outer), run


def indices(xp: Any, origin: Any, outer: tuple[tuple[int, int], ...]) -> Any:
    """Return the index of the first element of each run."""
    index = xp.full(origin)
    for count, step in outer:
        index = index[..., None] + xp.iota(count) * signed(step)
    return index


def blocks(xp: Any, key: Any, row: tuple[Any, Any], number: Any) -> list[Any]:
    """Return the 16 words of blocks, by their numbers in a row. The row is two words, the lower one first."""
    low, high = xp.halves(number)
    zero = low ^ low
    fixed = [zero + xp.word(constant) for constant in _CONSTANTS] + [zero + key[i] for i in range(8)]
    start = (*fixed, low, high, *(zero + half for half in row))
    mixed = xp.repeat(_DOUBLE_ROUNDS, lambda state: _double_round(xp, state), start)
    return [x + y for x, y in zip(mixed, start, strict=True)]


def _double_round(xp: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
    x = list(state)
    for a, b, c, d in _COLUMNS + _DIAGONALS:
        for into, of, turned, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[into] = x[into] + x[of]
            x[turned] = xp.rotated(x[turned] ^ x[into], bits)
    return tuple(x)


def words(xp: Any, key: Any, row: int, made: Plan, per_element: int) -> Any:
    """Return the words of the elements, in the shape (*outer, run, per_element)."""
    origin, known, outer, run = made
    elements = _BLOCK_WORDS // per_element
    index = indices(xp, origin, outer)
    # A run begins inside of a block, at the latest with its last element.
    count = -(-(run + (elements - 1 if known is None else known)) // elements)
    number = (index >> elements.bit_length() - 1 & (1 << 65 - elements.bit_length()) - 1)[..., None] + xp.iota(count)
    halves = xp.word(row & 0xFFFFFFFF), xp.word(row >> 32)
    parts = xp.stack(blocks(xp, key, halves, number))
    parts = parts.reshape(*parts.shape[:-2], count * elements, per_element)
    if known is not None:
        return parts[..., known : known + run, :]
    places = (index & elements - 1)[..., None] + xp.iota(run)
    return xp.taken(parts, places)


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
    """Return the layer of a word, its place there, and whether it is certainly under the density."""
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
