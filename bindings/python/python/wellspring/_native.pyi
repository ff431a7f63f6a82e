"""Where wellspring computes. Private: take the functions of the package."""

import builtins
from typing import Any, final

__all__ = [
    "Distribution", "Elements", "Parameter", "Stream", "distributions", "diverge_from_clones", "fill",
    "install_engine", "mix", "prepare_for_sandbox", "randbelow", "randbits", "random", "reseed", "token_bytes",
    "token_hex", "token_urlsafe", "trace_id", "ulid", "uuid4_bytes", "uuid4_text", "uuid7_bytes", "uuid7_text",
    "xla_handler",
]

# Any object with the buffer protocol. The type for it came with Python 3.12.
_Buffer = Any
_Start = tuple[int, list[tuple[int, int]]]
# An array, and how far its index goes on in each dimension of the elements.
_Column = tuple[_Buffer, list[int]]
_Words = tuple[int, int, int, int] | list[int]

def diverge_from_clones() -> int:
    """Separate this process from all copies of it and of its machine. Return the new generation.

    Every thread takes a fresh key at its next read. Call it first after a restored snapshot or checkpoint; with a
    generation page the engine does so by itself.
    """

def reseed() -> int:
    """Draw on all fast sources and reseed every node. Return the new generation.

    Afterwards no thread reads a byte that does not depend on the new seed, and on all that `mix` took before. The
    engine reseeds itself; this is for a caller who has a reason. Raises `RuntimeError` if the sources yielded nothing.
    """

def mix(data: _Buffer) -> None:
    """Hash the bytes of a contiguous buffer into the pools, without credit: data of an attacker does no harm.

    They take effect with a later reseed. The call never waits: data is dropped if 64 calls wait for the pools.
    """

def prepare_for_sandbox() -> None:
    """Prepare this process, and the calling thread, for a sandbox that forbids system calls, as strict seccomp does.

    Afterwards, and in all children, no read of the engine makes a system call. There is no way back. Call it before the
    filter is installed, and on each thread that will read. Raises `RuntimeError` if the engine is not seeded yet; nothing
    is changed then. docs/start/python.md says what Python itself needs.
    """

def token_bytes(nbytes: int | None = None) -> bytes:
    """Return nbytes random bytes that are fit for keys, without an argument 32."""

def token_hex(nbytes: int | None = None) -> str:
    """Return random text of 2 * nbytes hexadecimal digits, without an argument of 64."""

def token_urlsafe(nbytes: int | None = None) -> str:
    """Return random text that is safe in a URL, of about 1.3 * nbytes characters."""

def fill(out: _Buffer) -> None:
    """Fill a writable, contiguous buffer with random bytes that are fit for keys, on all cores."""

def randbits(k: int) -> int:
    """Return an integer of k random bits."""

def randbelow(n: int) -> int:
    """Return an integer from 0 to n - 1, each with the same probability."""

def random() -> float:
    """Return a multiple of 2**-53 from 0 to 1, without 1."""

def uuid4_bytes() -> builtins.bytes:
    """Return the bytes of a UUID of version 4."""

def uuid7_bytes() -> builtins.bytes:
    """Return the bytes of a UUID of version 7."""

def uuid4_text() -> str:
    """Return the text of a UUID of version 4."""

def uuid7_text() -> str:
    """Return the text of a UUID of version 7."""

def ulid() -> str:
    """Return the text of a ULID: 26 digits of Crockford's base 32."""

def trace_id(nbytes: int = 16) -> str:
    """Return a trace id of 16 or 32 random bytes, as hexadecimal digits."""

def install_engine(capsule: Any) -> None: ...

@final
class Stream:
    def __new__(cls, algorithm: str, words: _Words) -> Stream: ...
    def install(self, capsule: Any) -> None: ...
    def state(self) -> tuple[list[int], int, int, bool, int]: ...
    def set_state(self, words: _Words, jumps: int, position: int, half: int | None) -> None: ...
    def jumped(self, jumps: int) -> Stream: ...
    def seek(self, position: int) -> None: ...
    def position(self) -> int: ...
    def fill(self, out: _Buffer) -> None: ...
    def bytes(self, length: int) -> builtins.bytes: ...

@final
class Elements:
    def __new__(cls, algorithm: str, seed: int, path: list[int] | tuple[int, ...]) -> Elements: ...
    @staticmethod
    def from_words(algorithm: str, words: _Words) -> Elements: ...
    @staticmethod
    def from_halves(words: list[int]) -> Elements: ...
    @staticmethod
    def parse_path(text: str) -> list[int]: ...
    def fill(self, out: _Buffer, first: int, threads: int) -> None: ...
    def bytes(self, length: int, first: int, threads: int) -> builtins.bytes: ...
    def words(self, out: _Buffer, start: _Start, threads: int) -> None: ...
    def integers(self, out: _Buffer, start: _Start, bounds: tuple[int, int], threads: int) -> None: ...
    def permutation(self, out: _Buffer, first: int, length: int, threads: int) -> None: ...
    def draw(
        self, distribution: Distribution, values: list[Any], out: _Buffer, start: _Start, threads: int
    ) -> None: ...
    def draw_each(
        self,
        distribution: Distribution,
        columns: list[_Column],
        shape: list[int],
        is_kept: bool,
        out: _Buffer,
        start: _Start,
        threads: int,
    ) -> None: ...
    def draw_rows(
        self,
        distribution: Distribution,
        columns: list[tuple[Any, int, int]],
        out: _Buffer,
        width: int,
        first: int,
        threads: int,
    ) -> None: ...
    def integers_each(
        self,
        low: _Column,
        high: _Column,
        has_high: bool,
        shape: list[int],
        is_kept: bool,
        out: _Buffer,
        start: _Start,
        threads: int,
    ) -> None: ...
    def sobol(self, dimensions: int, scramble: bool, out: _Buffer, first: int, threads: int) -> None: ...
    def halton(self, dimensions: int, scramble: bool, out: _Buffer, first: int, threads: int) -> None: ...
    def shuffle(self, x: _Buffer) -> None: ...

@final
class Distribution:
    """A line of the table of distributions."""

    @property
    def name(self) -> str:
        """The method of `Elements`."""

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters, in the order in which `draw` takes their values."""

    @property
    def dtypes(self) -> list[str]:
        """The types of numbers, the default first."""

    @property
    def takes_columns(self) -> bool:
        """Whether parameters may be arrays: `draw_each`."""

    @property
    def row(self) -> int | None:
        """If an element is a row: the parameter that says how many numbers it has."""

@final
class Parameter:
    """A parameter of a distribution. The bounds of a vector hold for each of its numbers."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def default(self) -> float | None: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def has_low(self) -> bool: ...
    @property
    def has_high(self) -> bool: ...

def distributions() -> dict[str, Distribution]:
    """Return the table of distributions, by the names of the methods of `Elements`."""

def xla_handler() -> Any:
    """Return a capsule with the handler of XLA's foreign function interface that makes arrays for JAX on CPUs."""
