"""What names a stream: an algorithm, a seed and a path."""

from __future__ import annotations

import operator
from collections.abc import Iterable
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
    """Return the key or state that a SeedSequence of NumPy names, the same as that of its seed and path.

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
