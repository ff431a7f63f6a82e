"""The module `secrets` of the standard library, on wellspring's engine.

The names and semantics are the standard library's. Every function draws on the calling thread's generator, without a system
call. The numbers are fit for keys, also in a child process after a fork.
"""

from collections.abc import Sequence
from hmac import compare_digest
from random import Random
from typing import Any, NoReturn, TypeVar

from wellspring import _native
from wellspring._native import randbelow, randbits, token_bytes, token_hex, token_urlsafe

__all__ = [
    "SystemRandom",
    "choice",
    "compare_digest",
    "randbelow",
    "randbits",
    "token_bytes",
    "token_hex",
    "token_urlsafe",
]

DEFAULT_ENTROPY = 32
"""The number of bytes that the functions for tokens take without an argument."""

T = TypeVar("T")


class SystemRandom(Random):
    """`random.SystemRandom` on wellspring's engine: no seed, no state, safe in every thread and after a fork.

    It has the methods of `random.Random`. `seed` does nothing; `getstate`, `setstate` and pickling raise
    `NotImplementedError`. No method keeps a number for the next call, so that a child never repeats its parent.

    Examples
    --------
    >>> rng = SystemRandom()
    >>> sorted(rng.sample(range(5), 5))
    [0, 1, 2, 3, 4]
    """

    # `gauss` makes two numbers and keeps the second one here: a child and another thread would return it again.
    gauss_next = property(lambda self: None, lambda self, value: None)

    random = staticmethod(_native.random)
    getrandbits = staticmethod(_native.randbits)
    # What `Random` calls for choices, shuffles, samples and ranges.
    _randbelow = staticmethod(_native.randbelow)

    def randbytes(self, n: int) -> bytes:
        """Return n random bytes."""
        if n is None:
            raise TypeError("n must be an integer, not None")
        return token_bytes(n)

    def seed(self, *args: Any, **kwds: Any) -> None:
        """Do nothing: there is no seed."""

    def _notimplemented(self, *args: Any, **kwds: Any) -> NoReturn:
        """Raise NotImplementedError."""
        raise NotImplementedError("the engine has no state that can be read or set")

    getstate = setstate = _notimplemented


_system_random = SystemRandom()


def choice(seq: Sequence[T]) -> T:
    """Return an element of a non-empty sequence, each with the same probability.

    Raises
    ------
    IndexError
        If the sequence is empty.

    Examples
    --------
    >>> choice("abc") in "abc"
    True
    """
    return _system_random.choice(seq)
