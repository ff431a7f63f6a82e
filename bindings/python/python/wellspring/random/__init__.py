"""Reproducible numbers, and the engine, for NumPy and for programs without it.

`Elements` makes arrays whose element i depends on (algorithm, seed, path, i) alone. The bit generators go into
`numpy.random.Generator`; `default_rng` makes such a generator. Only the bit generators need NumPy.

Only `Engine` is fit for keys.
"""

from typing import TYPE_CHECKING, Any

from wellspring._native import fill as fill
from wellspring.random._elements import Elements as Elements

if TYPE_CHECKING:
    from wellspring.random._bit_generators import Aes256Ctr as Aes256Ctr
    from wellspring.random._bit_generators import ChaCha8 as ChaCha8
    from wellspring.random._bit_generators import ChaCha12 as ChaCha12
    from wellspring.random._bit_generators import ChaCha20 as ChaCha20
    from wellspring.random._bit_generators import Engine as Engine
    from wellspring.random._bit_generators import Philox4x64 as Philox4x64
    from wellspring.random._bit_generators import StreamBitGenerator as StreamBitGenerator
    from wellspring.random._bit_generators import Xorshift128Plus as Xorshift128Plus
    from wellspring.random._bit_generators import Xoshiro256PlusPlus as Xoshiro256PlusPlus
    from wellspring.random._bit_generators import Xoshiro256PlusPlusX16 as Xoshiro256PlusPlusX16
    from wellspring.random._bit_generators import default_rng as default_rng

# `Elements` and `fill` are there; the others are found by `__getattr__`, and need NumPy.
__all__ = [
    "Aes256Ctr",
    "ChaCha8",
    "ChaCha12",
    "ChaCha20",
    "Elements",
    "Engine",
    "Philox4x64",
    "StreamBitGenerator",
    "Xorshift128Plus",
    "Xoshiro256PlusPlus",
    "Xoshiro256PlusPlusX16",
    "default_rng",
    "fill",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import NumPy with the first name that needs it."""
    if name not in __all__:
        raise AttributeError(f"module 'wellspring.random' has no attribute '{name}'")
    try:
        from wellspring.random import _bit_generators
    except ModuleNotFoundError as error:
        raise ImportError(f"wellspring.random.{name} needs NumPy: pip install numpy") from error
    return getattr(_bit_generators, name)
