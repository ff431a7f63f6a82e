"""Arrays of JAX with the bits of `wellspring.random.Elements`, made on the device.

    >>> from wellspring.jax import Elements
    >>> x = Elements(2026, "3/0").random((1000, 1000))

Element i depends on the seed, the path and i alone: not on the device, the mesh, `jit`, `vmap` or the version of JAX. The key is
derived on the host. `Elements` is a pytree with one leaf, this key, so that it goes into `jit` and `vmap` as an argument. In
`shard_map`, `first` and `at` may be traced: each device makes its own block.

    >>> step = jax.jit(lambda noise, i: noise.standard_normal(1000, first=i * 1000))
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib import import_module
from typing import Any

try:
    jax: Any = import_module("jax")
except ModuleNotFoundError as _missing:
    raise ImportError("wellspring.jax needs JAX 0.10 or later: pip install jax") from _missing
import numpy as np

from wellspring import _native
from wellspring.random import Elements as Arrays
from wellspring.random import _devices
from wellspring.random._arguments import Path, checked_shape

__all__ = ["Elements"]

jnp, lax = jax.numpy, jax.lax


class _Operations:
    """What the shared modules ask for. All of it runs with 64-bit types enabled."""

    where = staticmethod(jnp.where)
    least = staticmethod(jnp.minimum)

    @staticmethod
    def full(index: Any) -> Any:
        return jnp.asarray(index, jnp.int64)

    @staticmethod
    def iota(length: int) -> Any:
        return lax.iota(jnp.int64, length)

    @staticmethod
    def word(number: int) -> Any:
        return np.uint32(number)

    @staticmethod
    def halves(number: Any) -> tuple[Any, Any]:
        return number.astype(jnp.uint32), (number >> 32).astype(jnp.uint32)

    @staticmethod
    def rotated(x: Any, bits: int) -> Any:
        return x << np.uint32(bits) | x >> np.uint32(32 - bits)

    @staticmethod
    def repeat(times: int, body: Any, state: Any) -> Any:
        # Unrolled, the program takes longer to compile, and longer to run on CPUs.
        return lax.fori_loop(0, times, lambda _, now: body(now), state)

    @staticmethod
    def stack(parts: list[Any]) -> Any:
        return jnp.stack(parts, -1)

    @staticmethod
    def taken(parts: Any, places: Any) -> Any:
        return jnp.take_along_axis(parts, places[..., None], axis=-2)

    @staticmethod
    def double(number: Any) -> Any:
        return number.astype(jnp.float64)

    @staticmethod
    def whole(x: Any) -> Any:
        return x.astype(jnp.int64)

    @staticmethod
    def bits(x: Any) -> Any:
        return lax.bitcast_convert_type(x, jnp.int64)

    @staticmethod
    def from_bits(bits: Any) -> Any:
        return lax.bitcast_convert_type(bits, jnp.float64)

    @staticmethod
    def table(name: str) -> Any:
        return jnp.asarray(_devices.tables()[name == "densities"], jnp.float64)


_MADE = functools.partial(jax.jit, static_argnames=("known", "outer", "run", "dtype"))


def _wide(words: Any) -> Any:
    low, high = (words[..., half].astype(jnp.int64) for half in (0, 1))
    return high << 32 | low


@_MADE
def _bits(key: Any, origin: Any, known: Any, outer: Any, run: int, dtype: str) -> Any:
    per_element = 2 if dtype == "uint64" else 1
    words = _devices.words(_Operations, key, _devices.STREAM_ROW, (origin, known, outer, run), per_element)
    return _wide(words).astype(jnp.uint64) if per_element == 2 else words[..., 0]


@_MADE
def _random(key: Any, origin: Any, known: Any, outer: Any, run: int, dtype: str) -> Any:
    if dtype == "float64":
        word = _bits(key, origin, known, outer, run, "uint64").astype(jnp.int64)
        return _devices.uniform(_Operations, word)
    return (_bits(key, origin, known, outer, run, "uint32") >> np.uint32(8)).astype(jnp.float32) * np.float32(2.0**-24)


@_MADE
def _standard_normal(key: Any, origin: Any, known: Any, outer: Any, run: int, dtype: str) -> Any:
    xp = _Operations
    plan = (origin, known, outer, run)
    word = _wide(_devices.words(xp, key, _devices.NORMAL_ROW, plan, 2))
    _, x, is_inside = _devices.draw(xp, word)
    made = _devices.with_sign(xp, x, word).reshape(-1)
    index = (_devices.indices(xp, origin, outer)[..., None] + xp.iota(run)).reshape(-1)
    return _finished(key, made, word.reshape(-1), index, ~is_inside.reshape(-1)).astype(dtype)


def _finished(key: Any, made: Any, word: Any, index: Any, is_open: Any) -> Any:
    """Give the open elements, one in 500, more words; some hundreds of elements at a time."""
    xp = _Operations
    at_a_time = made.size // 256 + 64
    high = xp.word(_devices.NORMAL_ROW >> 32)

    def some(state: tuple[Any, Any]) -> tuple[Any, Any]:
        made, is_open = state
        places = jnp.nonzero(is_open, size=at_a_time, fill_value=made.size)[0]
        number = index.at[places].get(mode="clip")

        def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
            turn, words, x, is_left = state
            rows = (1 + turn // 4).astype(jnp.uint32), high
            block = jnp.stack(_devices.blocks(xp, key, rows, number))
            first, second = (_wide(lax.dynamic_slice_in_dim(block, turn % 4 * 4 + i, 2).T) for i in (0, 2))
            new, sign, is_done = _devices.go_on(xp, words, first, second)
            x = jnp.where(is_left, _devices.with_sign(xp, new, sign), x)
            return turn + 1, jnp.where(is_left, sign, words), x, is_left & ~is_done

        start = (jnp.int32(0), word.at[places].get(mode="clip"), jnp.zeros(at_a_time), places < made.size)
        x = lax.while_loop(lambda state: state[3].any(), step, start)[2]
        return made.at[places].set(x, mode="drop"), is_open.at[places].set(False, mode="drop")

    return lax.while_loop(lambda state: state[1].any(), some, (made, is_open))[0]


_ON_DEVICE = {"bits": _bits, "random": _random, "standard_normal": _standard_normal}

try:
    jax.ffi.register_ffi_target("wellspring_elements", _native.xla_handler(), platform="cpu")
    _HAS_NATIVE = True
except RuntimeError:
    # A jaxlib of another binary interface: its CPUs run the operations of the devices, which give the same bits.
    _HAS_NATIVE = False


@functools.partial(jax.jit, static_argnames=("method", "known", "outer", "run", "dtype"))
def _elements(key: Any, origin: Any, *, method: str, known: Any, outer: Any, run: int, dtype: str) -> Any:
    """Call the native code on a CPU, and run the operations anywhere else: the program's platform decides."""
    shape = (*(count for count, _ in outer), run)
    plan = np.array([list(_ON_DEVICE).index(method), run, *(_devices.signed(n) for pair in outer for n in pair)], np.int64)
    in_memory = jax.ffi.ffi_call("wellspring_elements", jax.ShapeDtypeStruct(shape, dtype), vmap_method="broadcast_all")

    def on_device(key: Any, origin: Any) -> Any:
        return _ON_DEVICE[method](key, origin, known, outer, run, dtype).reshape(shape)

    if not _HAS_NATIVE:
        return on_device(key, origin)
    return lax.platform_dependent(key, origin, cpu=functools.partial(in_memory, plan=plan), default=on_device)


_INSTEAD = "make the array outside and pass it as an argument, or scale standard_normal or random"


@jax.tree_util.register_pytree_node_class
class Elements(_devices.ByHost):
    """Arrays of JAX, named by a seed and a path: see `wellspring.random.Elements`. The algorithm is chacha8.

    All methods take the size, and as `wellspring.random.Elements` the index of the first element, or `at` and `of`. Parameters
    may be arrays, by NumPy's broadcasting; the host makes the numbers of distributions that have parameters, outside of `jit`.
    """

    def __init__(self, seed: Any, path: Path = ()) -> None:
        self.key = np.array(_devices.key_words(seed, path), np.uint32)
        # Not a part of the pytree: a compiled program serves all names.
        self._name = _devices.name_of(seed, path)
        self._arrays = Arrays(seed, path)

    def __repr__(self) -> str:
        return f"<of JAX: chacha8, {getattr(self, '_name', 'inside of a program')}>"

    @property
    def elements(self) -> Arrays:
        """The same arrays in NumPy, on the host. A name that was an argument of `jit` or `jax.tree` has none."""
        arrays: Arrays | None = getattr(self, "_arrays", None)
        if arrays is None:
            raise TypeError(f"the host does not know the name inside of a program: {_INSTEAD}")
        return arrays

    def bits(self, size: Any, dtype: Any = "uint32", *, first: Any = 0, at: Any = None, of: Any = None) -> Any:
        """Return the words of the stream, as uint32 or uint64."""
        return self._made("bits", ("uint32", "uint64"), size, dtype, first, at, of)

    def random(self, size: Any, dtype: Any = "float32", *, first: Any = 0, at: Any = None, of: Any = None) -> Any:
        """Return uniform numbers in [0, 1), as float32 or float64: 0 can come, 1 cannot."""
        return self._made("random", ("float32", "float64"), size, dtype, first, at, of)

    def standard_normal(
        self, size: Any, dtype: Any = "float32", *, first: Any = 0, at: Any = None, of: Iterable[int] | None = None
    ) -> Any:
        """Return normal numbers with mean 0 and variance 1, as float32 or float64. The device needs float64 of IEEE 754."""
        return self._made("standard_normal", ("float32", "float64"), size, dtype, first, at, of)

    def _made(self, method: str, allowed: tuple[str, str], size: Any, dtype: Any, first: Any, at: Any, of: Any) -> Any:
        name = np.dtype(dtype).name
        if name not in allowed:
            raise TypeError(f"dtype {name} is not one of {', '.join(allowed)}")
        if name == allowed[1] and not jax.config.jax_enable_x64:
            raise TypeError(f"dtype {name} needs jax.config.update('jax_enable_x64', True)")
        shape = checked_shape(size, "size")
        with jax.enable_x64(True):
            # A traced number of a narrower type would wrap.
            first, *begins = (_widened(number) for number in (first, *(at or ())))
            words = 1 if name in ("uint32", "float32") and method != "standard_normal" else 2
            origin, known, outer, run = _devices.plan(
                shape, words, first, begins if at is not None else None, of, lambda number: isinstance(number, jax.Array)
            )
            if run == 0:
                return jnp.zeros(shape, name)
            origin = jnp.asarray(origin, jnp.int64)
            made = _elements(self.key, origin, method=method, known=known, outer=outer, run=run, dtype=name)
            return made.reshape(shape)

    def _from_host(self, method: Any, named: dict[str, Any]) -> Any:
        # A callback from inside of a program never ends where JAX has one thread (jax 0.10.2).
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(named)):
            raise TypeError(f"a parameter or an index of {method.__name__} is not known inside of a program: {_INSTEAD}")
        made = np.asarray(method(self.elements, **named))
        narrow = made.astype(jax.dtypes.canonicalize_dtype(made.dtype))
        if narrow.dtype.kind in "iu" and (narrow != made).any():
            raise TypeError(f"{made.dtype} needs jax.config.update('jax_enable_x64', True): a number is too large")
        return jnp.asarray(narrow)

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        return (self.key,), None

    @classmethod
    def tree_unflatten(cls, _: None, leaves: tuple[Any]) -> Elements:
        elements = object.__new__(cls)
        (elements.key,) = leaves
        return elements


def _widened(number: Any) -> Any:
    return number.astype(jnp.int64) if isinstance(number, jax.Array) else number
