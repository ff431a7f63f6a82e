"""Tensors of PyTorch with the bits of `wellspring.random.Elements`, made on the device.

    >>> from wellspring.torch import Elements
    >>> x = Elements(2026, "3/0", device="cpu").random((1000, 1000))

Element i depends on the seed, the path and i alone: not on the device, the number of threads or of workers of a `DataLoader`,
`torch.compile` or the version of PyTorch. `torch.manual_seed` changes nothing.

For the random part of an item of a dataset, take the number of the item as the index or as part of the path:

    >>> noise = Elements(2026, (3, 0)).standard_normal(64, first=64 * 17)
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

try:
    torch: Any = import_module("torch")
except ModuleNotFoundError as _missing:
    raise ImportError("wellspring.torch needs PyTorch 2.15 or later: pip install torch") from _missing
import numpy as np

from wellspring.random import Elements as Arrays
from wellspring.random import _devices
from wellspring.random._arguments import Path, block, checked_shape
from wellspring.random._distributions import TABLE

__all__ = ["Elements"]

# Elements that are made at a time: an intermediate result stays in the cache of a CPU.
_AT_A_TIME = 1 << 20


class _Operations:
    """What the shared modules ask for. Words of 32 bits are int32, whose sums wrap."""

    where = staticmethod(torch.where)

    def __init__(self, device: Any) -> None:
        self.device = device

    @staticmethod
    def least(x: Any, y: float) -> Any:
        return x.clamp(max=y)

    def full(self, index: int) -> Any:
        return torch.tensor(index, dtype=torch.int64, device=self.device)

    def iota(self, length: int) -> Any:
        return torch.arange(length, dtype=torch.int64, device=self.device)

    @staticmethod
    def word(number: int) -> Any:
        return _devices.signed(number, 32)

    @staticmethod
    def halves(number: Any) -> tuple[Any, Any]:
        return number.to(torch.int32), (number >> 32).to(torch.int32)

    @staticmethod
    def rotated(x: Any, bits: int) -> Any:
        return x << bits | x >> 32 - bits & (1 << bits) - 1

    @staticmethod
    def repeat(times: int, body: Any, state: Any) -> Any:
        for _ in range(times):
            state = body(state)
        return state

    @staticmethod
    def stack(parts: list[Any]) -> Any:
        return torch.stack(parts, -1)

    @staticmethod
    def taken(parts: Any, places: Any) -> Any:
        return torch.take_along_dim(parts, places[..., None], dim=-2)

    @staticmethod
    def double(number: Any) -> Any:
        return number.to(torch.float64)

    @staticmethod
    def whole(x: Any) -> Any:
        return x.to(torch.int64)

    @staticmethod
    def bits(x: Any) -> Any:
        return x.view(torch.int64)

    @staticmethod
    def from_bits(bits: Any) -> Any:
        return bits.view(torch.float64)

    def table(self, name: str) -> Any:
        return _table(name, self.device)


@functools.cache
def _table(name: str, device: Any) -> Any:
    return torch.tensor(_devices.tables()[name == "densities"], dtype=torch.float64, device=device)


def _wide(words: Any) -> Any:
    return words.contiguous().view(torch.int64)[..., 0]


def _bits(key: Any, size: Any, dtype: Any, first: int, at: Any, of: Any) -> Any:
    is_wide = dtype in (torch.uint64, torch.int64)
    return _words(key, _devices.STREAM_ROW, size, 2 if is_wide else 1, first, at, of)[0].view(dtype)


def _random(key: Any, size: Any, dtype: Any, first: int, at: Any, of: Any) -> Any:
    if dtype == torch.float64:
        return _devices.uniform(_Operations, _bits(key, size, torch.int64, first, at, of))
    return (_bits(key, size, torch.int32, first, at, of) >> 8 & (1 << 24) - 1).to(torch.float32) * 2.0**-24


def _standard_normal(key: Any, size: Any, dtype: Any, first: int, at: Any, of: Any) -> Any:
    word, index = _words(key, _devices.NORMAL_ROW, size, 2, first, at, of)
    xp = _Operations(key.device)
    _, x, is_inside = _devices.draw(xp, word)
    made = _devices.with_sign(xp, x, word)
    places = (~is_inside).nonzero(as_tuple=True)
    made[places] = _finished(key, word[places], index[places])
    return made.to(dtype)


def _finished(key: Any, word: Any, index: Any) -> Any:
    """Give the elements of these words and indices more words, and return their numbers."""
    xp, made = _Operations(key.device), torch.empty_like(word, dtype=torch.float64)
    left, turn, high = xp.iota(len(word)), 0, xp.word(_devices.NORMAL_ROW >> 32)
    while len(left):
        if turn % 4 == 0:
            block = xp.stack(_devices.blocks(xp, key, (1 + turn // 4, high), index[left]))
        first, second = (_wide(block[:, turn % 4 * 4 + i :][:, :2]) for i in (0, 2))
        number, sign, is_done = _devices.go_on(xp, word[left], first, second)
        made[left] = _devices.with_sign(xp, number, sign)
        word[left] = sign
        left, block, turn = left[~is_done], block[~is_done], turn + 1
    return made


def _words(key: Any, row: int, size: Any, words: int, first: int, at: Any, of: Any) -> tuple[Any, Any]:
    """Return the words as int32 or int64, and the indices of their elements if these are normal numbers."""
    shape, xp = checked_shape(size, "size"), _Operations(key.device)
    origin, known, outer, run = _devices.plan(shape, words, first, at, of)
    step = run if outer else _AT_A_TIME
    pieces = [torch.empty(0, words, dtype=torch.int32, device=key.device)]
    for start in range(0, run, max(step, 1)):
        piece = origin + start, known, outer, min(step, run - start)
        pieces.append(_devices.words(xp, key, row, piece, words))
    made = pieces[-1] if len(pieces) < 3 else torch.cat(pieces)
    made = _wide(made) if words == 2 else made[..., 0]
    index = None
    if row != _devices.STREAM_ROW:
        index = (_devices.indices(xp, origin, outer)[..., None] + xp.iota(run)).reshape(shape)
    return made.reshape(shape), index


_METHODS = {"bits": _bits, "random": _random, "standard_normal": _standard_normal}


def _on_device(key: Any, method: str, size: Any, dtype: Any, first: int, at: Any, of: Any) -> Any:
    # Contiguous, which is what a compiler takes it for.
    return _METHODS[method](key, size, dtype, first, at, of).contiguous()


def _on_cpu(key: Any, method: str, size: Any, dtype: Any, first: int, at: Any, of: Any) -> Any:
    shape = checked_shape(size, "size")
    start = block(shape, first, at, of)
    made = torch.empty(shape, dtype=dtype)
    # The same memory. Workers of a `DataLoader` have one thread.
    out, elements, threads = made.view(-1).numpy(), _devices.native(tuple(key.tolist())), torch.get_num_threads()
    if method == "bits":
        elements.words(out, start, threads)
    else:
        elements.draw(TABLE[method].distribution, [], out, start, threads)
    return made


# One operation, which a compiler calls without a look inside: Inductor can take minutes for the 800 operations of a device,
# may round in another way, and cannot know beforehand how often the loop of normal numbers runs.
_operation = torch.library.custom_op(
    "wellspring::elements",
    _on_device,
    mutates_args=(),
    schema="(Tensor key, str method, SymInt[] size, ScalarType dtype, SymInt first, SymInt[]? at, SymInt[]? of) -> Tensor",
)
_operation.register_kernel("cpu")(_on_cpu)
_operation.register_fake(lambda key, method, size, dtype, first, at, of: key.new_empty(size, dtype=dtype))


class Elements(_devices.ByHost):
    """Tensors of PyTorch, named by a seed and a path: see `wellspring.random.Elements`. The algorithm is chacha8.

    All methods take the size, and as `wellspring.random.Elements` the index of the first element, or `at` and `of`. Parameters
    may be tensors, by PyTorch's broadcasting; the host makes the numbers of distributions that have parameters.
    """

    def __init__(self, seed: Any, path: Path = (), device: Any = "cpu") -> None:
        self.device = torch.device(device)
        words = [_devices.signed(word, 32) for word in _devices.key_words(seed, path)]
        self._seed, self._path = seed, path
        # A tensor: a compiled program then serves all names.
        self._key = torch.tensor(words, dtype=torch.int32, device=self.device)

    def __repr__(self) -> str:
        return f"<of PyTorch, {self.device}: chacha8, {_devices.name_of(self._seed, self._path)}>"

    @property
    def elements(self) -> Arrays:
        """The same arrays in NumPy, on the host."""
        return Arrays(self._seed, self._path, threads=torch.get_num_threads())

    def bits(self, size: Any, dtype: Any = torch.uint32, *, first: int = 0, at: Any = None, of: Any = None) -> Any:
        """Return the words of the stream, as uint32 or uint64, or the same bits as int32 or int64."""
        _check(dtype, (torch.uint32, torch.uint64, torch.int32, torch.int64))
        return self._made("bits", size, dtype, first, at, of)

    def random(self, size: Any, dtype: Any = torch.float32, *, first: int = 0, at: Any = None, of: Any = None) -> Any:
        """Return uniform numbers in [0, 1), as float32 or float64: 0 can come, 1 cannot."""
        _check(dtype, (torch.float32, torch.float64))
        return self._made("random", size, dtype, first, at, of)

    def standard_normal(
        self, size: Any, dtype: Any = torch.float32, *, first: int = 0, at: Any = None, of: Any = None
    ) -> Any:
        """Return normal numbers with mean 0 and variance 1, as float32 or float64. The device needs float64."""
        _check(dtype, (torch.float32, torch.float64))
        return self._made("standard_normal", size, dtype, first, at, of)

    def _made(self, method: str, size: Any, dtype: Any, first: int, at: Any, of: Any) -> Any:
        size = [size] if isinstance(size, int) else list(size)
        at, of = (None if numbers is None else list(numbers) for numbers in (at, of))
        if not torch.compiler.is_compiling() and max((first, *(of or ()))) >= 1 << 63:
            # An operation takes integers of 63 bits.
            make = _on_cpu if self._key.device.type == "cpu" else _on_device
            return make(self._key, method, size, dtype, first, at, of)
        return _operation(self._key, method, size, dtype, first, at, of)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _from_host(self, method: Any, named: dict[str, Any]) -> Any:
        def plain(value: Any) -> Any:
            if isinstance(value, torch.dtype):
                return str(value).removeprefix("torch.")
            return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value

        made = method(self.elements, **{name: plain(value) for name, value in named.items()})
        return torch.as_tensor(np.asarray(made), device=self.device)


def _check(dtype: Any, allowed: tuple[Any, ...]) -> None:
    if dtype not in allowed:
        raise TypeError(f"dtype {dtype} is not one of {', '.join(map(str, allowed))}")
