"""Random numbers that scale with the machine.

=====================  ===========================================================================
for                    use
=====================  ===========================================================================
keys, tokens, nonces   `token_bytes`, `fill`, `wellspring.secrets`, `SystemRandom`
identifiers            `wellspring.ids`: UUIDs of versions 4 and 7, ULIDs, trace ids
NumPy generators       `wellspring.random`: bit generators and `default_rng`
reproducible arrays    `wellspring.random.Elements`: the same on any number of threads and machines
clusters               `wellspring.dask`
=====================  ===========================================================================

The package needs no other one. NumPy is needed for bit generators and for calls that return arrays.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

# For `clone_guard`: what came before this package may have seeded it. The next import makes it.
_random_is_older = "random" in sys.modules

from wellspring import secrets as secrets
from wellspring._native import fill as fill
from wellspring._native import token_bytes as token_bytes
from wellspring.secrets import SystemRandom as SystemRandom

if TYPE_CHECKING:
    from wellspring import clone_guard as clone_guard
    from wellspring import dask as dask
    from wellspring import ids as ids
    from wellspring import random as random

_MODULES = ("clone_guard", "dask", "ids", "random")

__all__ = ["SystemRandom", "fill", "random", "secrets", "token_bytes"]
__version__ = "0.1.0"


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})


def __getattr__(name: str) -> Any:
    """Import a module with its first use."""
    if name in _MODULES:
        return import_module(f"wellspring.{name}")
    raise AttributeError(f"module 'wellspring' has no attribute '{name}'")
