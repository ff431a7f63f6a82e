"""Random numbers that scale with the machine.

=====================  ===========================================================================
for                    use
=====================  ===========================================================================
keys, tokens, nonces   `token_bytes`, `fill`, `wellspring.secrets`, `SystemRandom`
NumPy generators       `wellspring.random`: bit generators and `default_rng`
reproducible arrays    `wellspring.random.Elements`: the same on any number of threads and machines
clusters               `wellspring.dask`
=====================  ===========================================================================

The package needs no other one. NumPy is needed for bit generators and for calls that return arrays.
"""

from wellspring import secrets as secrets
from wellspring._native import fill as fill
from wellspring._native import token_bytes as token_bytes
from wellspring.secrets import SystemRandom as SystemRandom

__all__ = ["SystemRandom", "fill", "secrets", "token_bytes"]
__version__ = "0.1.0"
