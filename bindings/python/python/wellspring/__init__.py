"""Random numbers that scale with the machine.

=====================  ===========================================================================
for                    use
=====================  ===========================================================================
keys, tokens, nonces   `token_bytes`, `fill`, `wellspring.secrets`, `SystemRandom`
the generator          `prepare_for_sandbox`, `diverge_from_clones`, `mix`, `reseed`
identifiers            `wellspring.ids`: UUIDs of versions 4 and 7, ULIDs, trace ids
NumPy generators       `wellspring.random`: bit generators and `default_rng`
reproducible arrays    `wellspring.random.Elements`: the same on any number of threads and machines
clusters               `wellspring.dask`
=====================  ===========================================================================

The package needs no other package. NumPy is needed for bit generators and for calls that return arrays.
"""

from __future__ import annotations

from importlib import import_module

from wellspring._native import diverge_from_clones as diverge_from_clones
from wellspring._native import fill as fill
from wellspring._native import mix as mix
from wellspring._native import prepare_for_sandbox as prepare_for_sandbox
from wellspring._native import reseed as reseed
from wellspring._native import token_bytes as token_bytes

# The module `typing` takes half of the time of this import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from wellspring import clone_guard as clone_guard
    from wellspring import dask as dask
    from wellspring import ids as ids
    from wellspring import random as random
    from wellspring import secrets as secrets
    from wellspring.secrets import SystemRandom as SystemRandom

_MODULES = ("clone_guard", "dask", "ids", "random", "secrets")

__all__ = [
    "SystemRandom",
    "diverge_from_clones",
    "fill",
    "mix",
    "prepare_for_sandbox",
    "random",
    "reseed",
    "secrets",
    "token_bytes",
]
__version__ = "0.1.0"


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})


def __getattr__(name: str) -> Any:
    """Import a module with its first use."""
    if name == "SystemRandom":
        return globals().setdefault(name, import_module("wellspring.secrets").SystemRandom)
    if name in _MODULES:
        return import_module(f"wellspring.{name}")
    raise AttributeError(f"module 'wellspring' has no attribute '{name}'")
