"""The stream of ChaCha8 in operations that the array libraries of accelerators have.

`xp` stands for such a library: a class of `wellspring.jax` or `wellspring.torch` with a dozen functions. Indices are int64
and wrap: 2**63 is written -2**63.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from wellspring.random._blocks import Shape, block, checked_shape
from wellspring.random._names import Path, checked_path, checked_seed, words_of

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
    """Return what to make for elements of so many words. `traced` tells numbers that are not known yet."""
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
