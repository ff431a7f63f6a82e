"""`python -m wellspring.random --check`: compares a digest of arrays with what it is on every machine."""

from __future__ import annotations

import argparse
import array
import hashlib
import sys
from collections.abc import Callable
from typing import Any

from wellspring.random import Elements

ALGORITHMS = ("chacha8", "chacha12", "chacha20", "aes256-ctr", "philox4x64-10")
LENGTH = 10_000

# What every machine with right arrays has; docs/how-to/science.md has it too.
EXPECTED = "7522117aa3f242268358f85005df472e47f66ed3961c3996ce58346fae2e35ca"

# The code of an array of the standard library, and what fills it.
FILLED: list[tuple[str, Callable[[Elements, Any], Any]]] = [
    ("d", lambda name, out: name.random(out=out)),
    ("f", lambda name, out: name.random(out=out)),
    ("d", lambda name, out: name.standard_normal(out=out)),
    ("f", lambda name, out: name.standard_normal(out=out)),
    ("d", lambda name, out: name.exponential(out=out)),
    ("q", lambda name, out: name.integers(1000, out=out)),
    ("i", lambda name, out: name.integers(-5, 1000, out=out)),
    ("q", lambda name, out: name.permutation(10**12, out=out)),
    ("d", lambda name, out: name.gamma(2.5, out=out)),
    ("d", lambda name, out: name.beta(0.5, 2.0, out=out)),
    ("d", lambda name, out: name.lognormal(out=out)),
    ("q", lambda name, out: name.poisson(4.0, out=out)),
    ("q", lambda name, out: name.poisson(40.0, out=out)),
    ("q", lambda name, out: name.binomial(100, 0.3, out=out)),
]


def digest() -> str:
    """Return the SHA-256 of 10^4 elements of every kind and algorithm, of the seed 2026 and the path 3/0/17."""
    result = hashlib.sha256()
    for algorithm in ALGORITHMS:
        name = Elements(2026, "3/0/17", algorithm)
        for code, fill in FILLED:
            out = array.array(code, [0]) * LENGTH
            fill(name, out)
            if sys.byteorder == "big":
                out.byteswap()
            result.update(out)
    return result.hexdigest()


def checked() -> str:
    """Return "ok" and the digest, or "differs", the digest and what it should be."""
    own = digest()
    return f"ok {own}" if own == EXPECTED else f"differs {own}, expected {EXPECTED}"


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m wellspring.random", description=__doc__)
    parser.add_argument("--check", action="store_true", required=True, help="print ok and the digest, or differs")
    parser.parse_args()
    said = checked()
    print(said)
    sys.exit(said.startswith("differs"))


if __name__ == "__main__":
    _main()
