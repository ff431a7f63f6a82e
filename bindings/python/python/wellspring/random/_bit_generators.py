"""Bit generators for NumPy: one for each kind of stream, and one for the engine."""

from __future__ import annotations

import builtins
import operator
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from wellspring import _native
from wellspring.random._arguments import Path, checked_length, checked_memory, checked_path, fresh_seed, words_of

_MASK_128 = (1 << 128) - 1


class StreamBitGenerator(np.random.BitGenerator):
    """A reproducible stream as a bit generator of NumPy: what the classes of all kinds have in common.

    Parameters
    ----------
    seed : int, sequence of ints, SeedSequence or None
        None means 128 fresh bits of the engine.
    path : int, sequence of ints or str, default ()
        The place of the stream under an integer seed: integers below 2**32, or text such as '3/0/17'. It is the `spawn_key`
        of NumPy's `SeedSequence`, so that `spawn` makes the path longer.

    Raises
    ------
    TypeError
        If NumPy takes no such seed, or a path goes with a SeedSequence, which has its own.
    ValueError
        If the path is not valid.
    RuntimeError
        If `__init__` is called a second time: generators have the address of the state. Set `state`.

    Notes
    -----
    The bytes are the output of `wellspring bytes --pseudo ALGORITHM --seed SEED --stream PATH`. A word is the next 8 of them. As
    with NumPy's own bit generators, a child made by `fork` repeats its parent: give each process a path of its own.

    Examples
    --------
    >>> ChaCha8(2026, path="3/0").random_raw() == ChaCha8(2026, path=3).spawn(1)[0].random_raw()
    True
    """

    algorithm: ClassVar[str]
    """The name of the algorithm on the command line and in reports."""

    _stream: _native.Stream

    def __init__(self, seed: Any = None, *, path: Path = ()) -> None:
        spawn_key = checked_path(path)
        if hasattr(seed, "generate_state") and spawn_key:
            raise TypeError("path goes with an integer seed: a SeedSequence has its own spawn_key")
        try:
            if not isinstance(seed, np.random.bit_generator.ISeedSequence):
                seed = np.random.SeedSequence(fresh_seed() if seed is None else seed, spawn_key=spawn_key)
        except (TypeError, ValueError) as error:
            kind = ValueError if isinstance(error, ValueError) else TypeError
            raise kind(f"NumPy does not take this seed: {error}") from None
        stream = _native.Stream(self.algorithm, words_of(self.algorithm, seed))
        # Generators have copied the address of the state and the lock: NumPy's __init__ would replace both under them.
        if self.__dict__.setdefault("_stream", stream) is not stream:
            raise RuntimeError("a bit generator is made once: set its state, or make another one")
        # From here on nothing fails but for memory. A struct of NumPy without functions would end the process.
        super().__init__(seed)
        stream.install(self.capsule)

    def __repr__(self) -> str:
        seed, path = getattr(self.seed_seq, "entropy", None), getattr(self.seed_seq, "spawn_key", ())
        return f"<{type(self).__name__}: {self.algorithm}, seed {seed}, path {tuple(path)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.seed_seq, self.state)

    @property  # type: ignore[override]
    def state(self) -> dict[str, Any]:
        """The whole state. Setting it also moves the generators that were made before."""
        with self.lock:
            words, jumps, position, has_half, half = self._stream.state()
        return {
            "bit_generator": type(self).__name__,
            "state": {"key": tuple(words), "jumps": jumps, "position": position},
            "has_uint32": int(has_half),
            "uinteger": half,
        }

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        if not isinstance(value, dict):
            raise TypeError("state must be a dict")
        if value.get("bit_generator") != type(self).__name__:
            raise ValueError(f"state must come from a {type(self).__name__}")
        try:
            inner = value["state"]
            half = value["uinteger"] if value["has_uint32"] else None
            parts = (inner["key"], inner["jumps"], inner["position"], half)
        except (KeyError, TypeError) as error:
            raise ValueError(f"state is incomplete: {error}") from None
        with self.lock:
            try:
                self._stream.set_state(*parts)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"state is not one of a {type(self).__name__}: {error}") from None

    @property
    def position(self) -> int:
        """The number of the next byte of the stream."""
        with self.lock:
            return self._stream.position()

    def advance(self, delta: int) -> Self:
        """Go on by delta numbers of 64 bits, 8 bytes each; back if delta is negative. Return self, as NumPy does.

        Examples
        --------
        >>> ChaCha8(2026).advance(10).position
        80
        """
        delta = _integer(delta, "delta")
        with self.lock:
            self._stream.seek((self._stream.position() + 8 * delta) & _MASK_128)
        return self

    def at(self, position: int) -> Self:
        """Return a bit generator that reads this stream from byte `position` on: from 0 to 2**128 - 1.

        Examples
        --------
        >>> ChaCha8(2026).at(8).bytes(8) == ChaCha8(2026).bytes(16)[8:]
        True
        """
        position = _integer(position, "position")
        if not 0 <= position <= _MASK_128:
            raise ValueError("position must be from 0 to 2**128 - 1")
        other = self._copy(0)
        with other.lock:
            other._stream.seek(position)
        return other

    def jumped(self, jumps: int = 1) -> Self:
        """Return a bit generator `jumps` jumps ahead, from 0 to 2**63 - 1, at the same position.

        A path does the same and says what it means.

        Examples
        --------
        >>> ChaCha8(2026).jumped(2).bytes(8) == ChaCha8(2026).jumped().jumped().bytes(8)
        True
        """
        jumps = _integer(jumps, "jumps")
        if not 0 <= jumps < 1 << 63:
            raise ValueError("jumps must be from 0 to 2**63 - 1")
        return self._copy(jumps)

    def _copy(self, jumps: int) -> Self:
        """Return one with the same seed sequence, so many jumps ahead."""
        other = type(self)(self.seed_seq)
        with self.lock:
            words, total, position, _, _ = self._stream.jumped(jumps).state()
        with other.lock:
            other._stream.set_state(words, total, position, None)
        return other

    def fill(self, out: Any) -> None:
        """Fill a writable, contiguous buffer with the next bytes of the stream. Other threads of Python run meanwhile.

        Examples
        --------
        >>> out = bytearray(8)
        >>> ChaCha8(2026).fill(out)
        >>> bytes(out) == ChaCha8(2026).bytes(8)
        True
        """
        checked_memory(out)
        with self.lock:
            self._stream.fill(out)

    def bytes(self, length: int) -> builtins.bytes:
        """Return the next `length` bytes of the stream, much faster than `Generator.bytes`.

        Examples
        --------
        >>> ChaCha8(2026).bytes(8).hex()
        '19880c2e02440f5d'
        """
        length = checked_length(length)
        with self.lock:
            return self._stream.bytes(length)


def _integer(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer") from None


def _restored(kind: type[StreamBitGenerator], seed_sequence: Any, state: dict[str, Any]) -> StreamBitGenerator:
    """Return a bit generator from its pickle."""
    bit_generator = kind(seed_sequence)
    bit_generator.state = state
    return bit_generator


class ChaCha8(StreamBitGenerator):
    """ChaCha with 8 rounds: every byte costs the same to reach. What `default_rng` takes."""

    algorithm = "chacha8"


class ChaCha12(StreamBitGenerator):
    """ChaCha with 12 rounds."""

    algorithm = "chacha12"


class ChaCha20(StreamBitGenerator):
    """ChaCha with 20 rounds."""

    algorithm = "chacha20"


class Aes256Ctr(StreamBitGenerator):
    """AES-256 in counter mode: the fastest on a CPU with AES instructions, slow on others."""

    algorithm = "aes256-ctr"


class Philox4x64(StreamBitGenerator):
    """The numbers of `numpy.random.Philox`. `advance` counts numbers here, and blocks of four in NumPy."""

    algorithm = "philox4x64-10"


class Xoshiro256PlusPlus(StreamBitGenerator):
    """xoshiro256++: a linear generator with 256 bits of state. A seek takes 0.1 ms."""

    algorithm = "xoshiro256++"


class Xoshiro256PlusPlusX16(StreamBitGenerator):
    """Sixteen xoshiro256++ side by side: the fastest to read from its beginning. A seek takes 0.1 ms."""

    algorithm = "xoshiro256++x16"


class Xorshift128Plus(StreamBitGenerator):
    """For numbers that were made with it. Its lowest bit fails tests of binary rank."""

    algorithm = "xorshift128+"


class Engine(np.random.BitGenerator):
    """The engine of the process, fit for keys: no seed, no state, no copies.

    Every thread reads its own tap. A `Generator` over it keeps no number, so that a child process never repeats its parent.
    A `RandomState` keeps the second of two normal numbers, and a child has it too. It cannot be pickled: make one where it
    is needed.

    Examples
    --------
    >>> rng = np.random.Generator(Engine())
    >>> 0.0 <= rng.random() < 1.0
    True
    """

    def __init__(self) -> None:
        # NumPy wants a seed. Nothing reads it.
        super().__init__(0)
        _native.install_engine(self.capsule)

    def __repr__(self) -> str:
        return "<Engine: the engine of the process, without a seed and a path>"

    @property
    def seed_seq(self) -> NoReturn:
        """Not available."""
        raise TypeError("the engine has no seed that can be repeated")

    @property  # type: ignore[override]
    def state(self) -> NoReturn:
        """Not available."""
        raise TypeError("the engine has no state that can be read or set")

    @state.setter
    def state(self, value: Any) -> NoReturn:
        raise TypeError("the engine has no state that can be read or set")

    def __reduce__(self) -> NoReturn:
        raise TypeError("the engine cannot be pickled or copied: make an Engine() where it is needed")

    def spawn(self, n_children: int) -> list[Engine]:
        """Return n_children bit generators on the same engine. They never repeat each other.

        Examples
        --------
        >>> len(Engine().spawn(3))
        3
        """
        return [Engine() for _ in range(operator.index(n_children))]

    def fill(self, out: Any) -> None:
        """Fill a writable, contiguous buffer with random bytes, on all cores.

        Examples
        --------
        >>> Engine().fill(bytearray(8))
        """
        _native.fill(checked_memory(out))

    def bytes(self, length: int) -> builtins.bytes:
        """Return random bytes, much faster than `Generator.bytes`.

        Examples
        --------
        >>> len(Engine().bytes(8))
        8
        """
        return _native.token_bytes(checked_length(length))


def default_rng(seed: Any = None, *, path: Path = ()) -> np.random.Generator:
    """Return a generator of NumPy.

    Parameters
    ----------
    seed : int, sequence of ints, SeedSequence, BitGenerator, Generator or None
        What `ChaCha8` takes, or a bit generator, or a generator, which is returned as it is.
    path : int, sequence of ints or str, default ()
        As of `ChaCha8`.

    Raises
    ------
    TypeError
        If a path goes with a generator or a bit generator, which have their stream already.

    Examples
    --------
    >>> default_rng(2026, path=3).random() == default_rng(2026, path="3").random()
    True
    """
    if isinstance(seed, (np.random.Generator, np.random.BitGenerator)) and checked_path(path):
        raise TypeError("path goes with a seed: a generator and a bit generator have their stream already")
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.BitGenerator):
        return np.random.Generator(seed)
    return np.random.Generator(ChaCha8(seed, path=path))
