"""What all examples compute: 40 replicas of a random walk, whose results depend on no worker.

A replica has a number, and the number is its path. Which process runs it, when, and how often, does not matter.
"""

import hashlib
import sys

import numpy as np

from wellspring.random import Elements

SEED = 2026
REPLICAS = 40
STEPS = 10_000


def replica(number: int) -> float:
    """Where the walk of this replica ends."""
    return float(Elements(SEED, (number,), threads=1).standard_normal(STEPS).sum())


def workers() -> int:
    """The number of workers on the command line, or 2."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else 2


def report(results: object) -> None:
    """Print a digest of all results: the same on every machine, with any number of workers."""
    data = np.ascontiguousarray(results, "<f8").tobytes()
    print("sha256", hashlib.sha256(data).hexdigest())
